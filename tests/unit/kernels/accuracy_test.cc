// Every elementwise function of floats over every exponent, against libm's long double.
#include "accuracy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>

#include "fuzz.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using enum plan::ScalarOp;
using plan::ScalarOp;
using testing::Buffer;
using testing::Call;
using testing::Group;
using testing::SameBits;

constexpr DType kFloats[] = {f16, bf16, f32, f64};
constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

Real Logistic(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real Lgamma(Real x) {
  int sign;
  return lgammal_r(x, &sign);
}
Real Digamma(Real x) {
  constexpr Real kPi = std::numbers::pi_v<Real>;
  if (x <= 0) {
    const Real part = x - std::nearbyint(x);
    return part == 0 || std::isinf(x) ? kNan : Digamma(1 - x) - kPi / std::tan(kPi * part);
  }
  Real sum = 0;
  for (; x < 40; ++x) sum -= 1 / x;
  const Real y = 1 / (x * x);  // B_2k / 2k; the first term left out is 2e-22 at 40
  const Real series =
      y * (1.0L / 12 - y * (1.0L / 120 - y * (1.0L / 252 - y * (1.0L / 240 - y / 132))));
  return sum + std::log(x) - 0.5L / x - series;
}
// By bisection: no digit depends on a derivative.
Real ErfInv(Real x) {
  const Real a = std::fabs(x);
  if (!(a <= 1)) return kNan;
  if (a == 1) return std::copysign(kInf, x);
  if (a < 0x1p-40L) return x * 0.886226925452758013649083741670572591L;  // sqrt(pi) / 2
  Real low = 0, high = 10;
  while (true) {
    const Real y = a < 0x1p-30L ? std::sqrt(std::max(low, 0x1p-45L) * high) : (low + high) / 2;
    if (y <= low || y >= high) return std::copysign(y, x);
    ((a < 0.5 ? std::erf(y) < a : std::erfc(y) > 1 - a) ? low : high) = y;
  }
}

struct Unary {
  const char* name;
  ScalarOp op;
  Real (*want)(Real);
  double units = 4;
  Real least = 0;  // see Units
};
constexpr Unary kUnary[] = {
    {"neg", kNeg, [](Real x) { return -x; }, 0},
    {"abs", kAbs, [](Real x) { return std::fabs(x); }, 0},
    {"sign", kSign, [](Real x) { return x > 0   ? 1
                                        : x < 0 ? -1
                                                : x; }, 0},
    {"floor", kFloor, [](Real x) { return std::floor(x); }, 0},
    {"ceil", kCeil, [](Real x) { return std::ceil(x); }, 0},
    {"round_even", kRoundEven, [](Real x) { return std::nearbyint(x); }, 0},
    {"round_away", kRoundAway, [](Real x) { return std::round(x); }, 0},
    {"exp", kExp, [](Real x) { return std::exp(x); }},
    {"exp2", kExp2, [](Real x) { return std::exp2(x); }},
    {"expm1", kExpm1, [](Real x) { return std::expm1(x); }},
    {"log", kLog, [](Real x) { return std::log(x); }},
    {"log1p", kLog1p, [](Real x) { return std::log1p(x); }},
    {"sqrt", kSqrt, [](Real x) { return std::sqrt(x); }},
    {"rsqrt", kRsqrt, [](Real x) { return 1 / std::sqrt(x); }},
    {"cbrt", kCbrt, [](Real x) { return std::cbrt(x); }},
    {"sin", kSin, [](Real x) { return std::sin(x); }},
    {"cos", kCos, [](Real x) { return std::cos(x); }},
    {"tan", kTan, [](Real x) { return std::tan(x); }},
    {"asin", kAsin, [](Real x) { return std::asin(x); }},
    {"acos", kAcos, [](Real x) { return std::acos(x); }},
    {"atan", kAtan, [](Real x) { return std::atan(x); }},
    {"sinh", kSinh, [](Real x) { return std::sinh(x); }},
    {"cosh", kCosh, [](Real x) { return std::cosh(x); }},
    {"tanh", kTanh, [](Real x) { return std::tanh(x); }},
    {"asinh", kAsinh, [](Real x) { return std::asinh(x); }},
    {"acosh", kAcosh, [](Real x) { return std::acosh(x); }},
    {"atanh", kAtanh, [](Real x) { return std::atanh(x); }},
    {"erf", kErf, [](Real x) { return std::erf(x); }},
    {"erfc", kErfc, [](Real x) { return std::erfc(x); }},
    {"erf_inv", kErfInv, ErfInv},
    {"lgamma", kLgamma, Lgamma},
    {"digamma", kDigamma, Digamma, 4, 0x1p-6L},  // no digits are left next to its zeros
    {"logistic", kLogistic, Logistic},
};

// A kernel of one op on n elements.
plan::Kernel KernelOf(ScalarOp op, DType dtype, int64_t n, int operands) {
  Group g({n});
  const int x = g.Input(dtype);
  g.Output(g.Op(op, dtype, x, operands == 2 ? g.Input(dtype) : -1));
  return Fused(g.desc);
}

// Expects `got` within `most` units (of `least`, see Units) of want(i) for every i.
void ExpectAccurate(const std::string& name, const Buffer& got, double most, Real least,
                    const std::function<Real(int64_t)>& want,
                    const std::function<std::string(int64_t)>& arguments) {
  const Format format = FormatOf(got.dtype);
  double worst = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < got.n; ++i) {
    const double units = Units(got.At(i), want(i), format, least);
    if (units > worst) worst = units, at = i;
  }
  // TESSERA_PRINT_UNITS=1 shows where each function stands.
  if (std::getenv("TESSERA_PRINT_UNITS") != nullptr)
    std::printf("%-5s%-11s%8.3f at %s\n", got.dtype.name(), name.c_str(), worst,
                arguments(at).c_str());
  EXPECT_LE(worst, most) << name << " of " << got.dtype.name() << " " << arguments(at) << ": got "
                         << got.At(at) << ", want " << static_cast<double>(want(at));
}
std::string Digits(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g (%a)", x, x);
  return text;
}

TEST(Accuracy, FunctionsOfOneFloatOverAllExponents) {
  for (DType dtype : kFloats) {
    const Buffer x = testing::Numbers(dtype, AllExponents(dtype, FuzzCount(dtype == f32 ? 64 : 8)));
    for (const Unary& c : kUnary) {
      Buffer y(dtype, x.n);
      Call(KernelOf(c.op, dtype, x.n, 1), {&x}, {&y});
      ExpectAccurate(
          c.name, y, c.units, c.least, [&](int64_t i) { return c.want(x.At(i)); },
          [&](int64_t i) { return Digits(x.At(i)); });
    }
  }
}

struct Binary {
  const char* name;
  ScalarOp op;
  Real (*want)(Real, Real);
  double units;
};
// What is rounded once has half a unit, and what x87 rounds before adds 2^-11 of one.
constexpr double kOnce = 0.501;
constexpr Binary kBinary[] = {
    {"add", kAdd, [](Real x, Real y) { return x + y; }, kOnce},
    {"sub", kSub, [](Real x, Real y) { return x - y; }, kOnce},
    {"mul", kMul, [](Real x, Real y) { return x * y; }, kOnce},
    {"div", kDiv, [](Real x, Real y) { return x / y; }, kOnce},
    {"rem", kRem, [](Real x, Real y) { return std::fmod(x, y); }, 0},
    {"pow", kPow, [](Real x, Real y) { return std::pow(x, y); }, 4},
    {"atan2", kAtan2, [](Real x, Real y) { return std::atan2(x, y); }, 4},
};

// Any two numbers; two that are close to each other; x and y with x^y in range.
void FillPairs(Buffer& x, Buffer& y) {
  std::mt19937_64 random(12);
  const auto bits = [&](Buffer& b, int64_t i) {
    const uint64_t v = random();
    std::memcpy(b.bytes.get() + i * b.dtype.size(), &v, static_cast<size_t>(b.dtype.size()));
  };
  const Format format = FormatOf(x.dtype);
  for (int64_t i = 0; i < x.n; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    bits(x, i);
    if (i % 3 == 0) bits(y, i);
    if (i % 3 == 1) y.Set(i, x.At(i) * (1 + unit));
    if (i % 3 == 2) {
      const double power = unit * 1.1 * (format.end - format.least) / std::log2(std::fabs(x.At(i)));
      y.Set(i, x.At(i) < 0 ? std::nearbyint(power) : power);
    }
  }
}

TEST(Accuracy, FunctionsOfTwoFloatsOverAllExponents) {
  for (DType dtype : kFloats) {
    Buffer x(dtype, FuzzCount(30000)), y(dtype, x.n);
    FillPairs(x, y);
    for (const Binary& c : kBinary) {
      Buffer z(dtype, x.n);
      Call(KernelOf(c.op, dtype, x.n, 2), {&x, &y}, {&z});
      ExpectAccurate(
          c.name, z, c.units, 0, [&](int64_t i) { return c.want(x.At(i), y.At(i)); },
          [&](int64_t i) { return Digits(x.At(i)) + ", " + Digits(y.At(i)); });
    }
  }
}

// Rows of less than a tile end in vectors that are not full: the same bits as in long rows.
TEST(Accuracy, ResultsDoNotDependOnThePlaceInARow) {
  for (DType dtype : kFloats) {
    const Buffer all = testing::Numbers(dtype, AllExponents(dtype, 1));
    for (const Unary& c : kUnary) {
      Buffer want(dtype, all.n);
      Call(KernelOf(c.op, dtype, all.n, 1), {&all}, {&want});
      for (int64_t n : {1, 37}) {
        const plan::Kernel kernel = KernelOf(c.op, dtype, n, 1);
        for (int64_t begin = 0; begin + n <= all.n; begin += all.n / 50) {
          Buffer x(dtype, n), y(dtype, n), part(dtype, n);
          std::memcpy(x.bytes.get(), all.bytes.get() + begin * dtype.size(), x.size());
          std::memcpy(part.bytes.get(), want.bytes.get() + begin * dtype.size(), x.size());
          Call(kernel, {&x}, {&y});
          ASSERT_TRUE(SameBits(y, part)) << c.name << ", " << n << " elements from " << begin;
        }
      }
    }
  }
}

TEST(Accuracy, ExpOfLargeIntegersIsInfinite) {
  for (DType integer : {i64, u64}) {
    for (DType dtype : kFloats) {
      Group g({4});
      g.Output(g.Op(kExp, dtype, g.Op(kConvert, dtype, g.Input(integer))));
      const Buffer x = testing::Numbers(integer, {0, 100000, 5e9, 9e18});
      Buffer y(dtype, 4);
      Call(Fused(g.desc), {&x}, {&y});
      EXPECT_TRUE(testing::Near(y, {1, HUGE_VAL, HUGE_VAL, HUGE_VAL}, 0)) << integer.name();
    }
  }
}

}  // namespace
}  // namespace tessera::kernels

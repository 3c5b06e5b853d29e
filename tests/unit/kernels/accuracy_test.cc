// Every elementwise function of floats over every exponent, against libm's long double.
#include <bit>
#include <cmath>

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

using Real = long double;
constexpr DType kFloats[] = {f16, bf16, f32, f64};
constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

// The spacing of a dtype's numbers: `digits` bits; 2^least is the smallest number and 2^end the
// first one beyond the largest.
struct Format {
  int digits, least, end;
};
Format FormatOf(DType dtype) {
  if (dtype == f16) return {11, -24, 16};
  if (dtype == bf16) return {8, -133, 128};
  return dtype == f32 ? Format{24, -149, 128} : Format{53, -1074, 1024};
}

// |got - want| in units of the last place of `want`. Infinity counts as the number after the
// largest.
double Units(Real got, Real want, const Format& f) {
  constexpr double kWrong = 1e30;
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : kWrong;
  if (std::signbit(got) != std::signbit(want)) return kWrong;
  const Real end = std::ldexp(Real{1}, f.end);
  got = std::min(std::fabs(got), end), want = std::min(std::fabs(want), end);
  const int exponent = want == 0 ? f.least : std::ilogb(std::min(want, end / 2)) - f.digits + 1;
  return static_cast<double>(std::ldexp(std::fabs(got - want), -std::max(exponent, f.least)));
}

Real Logistic(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real Lgamma(Real x) {
  int sign;
  return lgammal_r(x, &sign);
}
Real Digamma(Real x) {
  constexpr Real kPi = 3.14159265358979323846264338327950288L;
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
    {"digamma", kDigamma, Digamma},
    {"logistic", kLogistic, Logistic},
};

// All numbers of 16 bits; of more, `each` with every exponent and sign, and as many in [-20, 20]
// and where functions of exp leave the dtype's range.
Buffer AllExponents(DType dtype, int64_t each) {
  std::mt19937_64 random(11);
  if (dtype.size() == 2) {
    Buffer b(dtype, 65536);
    for (int64_t i = 0; i < b.n; ++i) b.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    return b;
  }
  const int mantissa = FormatOf(dtype).digits - 1;
  const int64_t exponents = int64_t{1} << (dtype.size() * 8 - mantissa), near = 64 * each;
  const double end = dtype == f32 ? 130 : 1100;
  Buffer b(dtype, exponents * each + 2 * near);
  for (int64_t i = 0; i < exponents * each; ++i) {
    const auto high = static_cast<uint64_t>(i / each) << mantissa;
    // The first of each exponent is a power of two: or zero, or infinity.
    const uint64_t low = i % each == 0 ? 0 : random() & ((uint64_t{1} << mantissa) - 1);
    if (dtype == f32)
      b.as<uint32_t>()[i] = static_cast<uint32_t>(high | low);
    else
      b.as<uint64_t>()[i] = high | low;
  }
  for (int64_t i = 0; i < 2 * near; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    b.Set(exponents * each + i, unit * (i < near ? 20 : end));
  }
  return b;
}

plan::Kernel UnaryKernel(ScalarOp op, DType dtype, int64_t n) {
  Group g({n});
  g.Output(g.Op(op, dtype, g.Input(dtype)));
  return Fused(g.desc);
}

TEST(Accuracy, FunctionsOfOneFloatOverAllExponents) {
  const bool prints = std::getenv("TESSERA_PRINT_UNITS") != nullptr;
  for (DType dtype : kFloats) {
    const Format format = FormatOf(dtype);
    const Buffer x = AllExponents(dtype, FuzzCount(dtype == f32 ? 64 : 8));
    for (const Unary& c : kUnary) {
      Buffer y(dtype, x.n);
      Call(UnaryKernel(c.op, dtype, x.n), {&x}, {&y});
      double worst = 0;
      int64_t at = 0;
      for (int64_t i = 0; i < x.n; ++i) {
        const double units = Units(y.At(i), c.want(x.At(i)), format);
        if (units > worst) worst = units, at = i;
      }
      if (prints) printf("%s %s: %.2f at %.17g\n", dtype.name(), c.name, worst, x.At(at));
      EXPECT_LE(worst, c.units) << c.name << " " << dtype.name() << " of " << std::hexfloat
                                << x.At(at) << ": got " << y.At(at) << ", want "
                                << static_cast<double>(c.want(x.At(at)));
    }
  }
}

}  // namespace
}  // namespace tessera::kernels

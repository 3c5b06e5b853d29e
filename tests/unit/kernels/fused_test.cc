// Single elementwise functions and conversions in fused kernels, against libm and integer
// arithmetic.
#include "kernels/fused/fused.h"

#include <cmath>
#include <functional>

#include "base/dtype.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using enum plan::ScalarOp;
using plan::ScalarOp;
using test::Buffer;
using test::Call;
using test::Count;
using test::Group;
using test::kAllDTypes;
using test::kInf;
using test::kNan;
using test::Near;
using test::Numbers;
using test::Random;
using test::SameBits;
using test::Tolerance;

constexpr DType kFloats[] = {f16, bf16, f32, f64};

Buffer Unary(ScalarOp op, DType out, const Buffer& x) {
  Group g({x.n});
  g.Output(g.Op(op, out, g.Input(x.dtype)));
  Buffer y(out, x.n);
  Call(Fused(g.desc), {&x}, {&y});
  return y;
}
Buffer Binary(ScalarOp op, DType out, const Buffer& x, const Buffer& y) {
  Group g({x.n});
  const int a = g.Input(x.dtype);
  g.Output(g.Op(op, out, a, g.Input(y.dtype)));
  Buffer z(out, x.n);
  Call(Fused(g.desc), {&x, &y}, {&z});
  return z;
}

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double RoundAway(double x) { return std::round(x); }
double RoundEven(double x) { return std::nearbyint(x); }
double Rsqrt(double x) { return 1 / std::sqrt(x); }
double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

struct UnaryCase {
  const char* name;
  ScalarOp op;
  double (*want)(double);
};
constexpr UnaryCase kUnary[] = {
    {"neg", kNeg, [](double x) { return -x; }},
    {"abs", kAbs, [](double x) { return std::fabs(x); }},
    {"sign", kSign, Sign},
    {"floor", kFloor, [](double x) { return std::floor(x); }},
    {"ceil", kCeil, [](double x) { return std::ceil(x); }},
    {"round_even", kRoundEven, RoundEven},
    {"round_away", kRoundAway, RoundAway},
    {"exp", kExp, [](double x) { return std::exp(x); }},
    {"exp2", kExp2, [](double x) { return std::exp2(x); }},
    {"expm1", kExpm1, [](double x) { return std::expm1(x); }},
    {"log", kLog, [](double x) { return std::log(x); }},
    {"log1p", kLog1p, [](double x) { return std::log1p(x); }},
    {"sqrt", kSqrt, [](double x) { return std::sqrt(x); }},
    {"rsqrt", kRsqrt, Rsqrt},
    {"cbrt", kCbrt, [](double x) { return std::cbrt(x); }},
    {"sin", kSin, [](double x) { return std::sin(x); }},
    {"cos", kCos, [](double x) { return std::cos(x); }},
    {"tan", kTan, [](double x) { return std::tan(x); }},
    {"asin", kAsin, [](double x) { return std::asin(x); }},
    {"acos", kAcos, [](double x) { return std::acos(x); }},
    {"atan", kAtan, [](double x) { return std::atan(x); }},
    {"sinh", kSinh, [](double x) { return std::sinh(x); }},
    {"cosh", kCosh, [](double x) { return std::cosh(x); }},
    {"tanh", kTanh, [](double x) { return std::tanh(x); }},
    {"asinh", kAsinh, [](double x) { return std::asinh(x); }},
    {"acosh", kAcosh, [](double x) { return std::acosh(x); }},
    {"atanh", kAtanh, [](double x) { return std::atanh(x); }},
    {"erf", kErf, [](double x) { return std::erf(x); }},
    {"erfc", kErfc, [](double x) { return std::erfc(x); }},
    {"lgamma", kLgamma, [](double x) { return std::lgamma(x); }},
    {"logistic", kLogistic, Logistic},
};

std::vector<double> Arguments(DType dtype) {
  std::vector<double> x = {0.0,  -0.0, 1, -1, 0.5,   -0.5, 1.5, 2.5, -2.5, kInf,   -kInf,
                           kNan, 1e-4, 3, -3, 12.75, 85,   -85, 700, -700, 1234.5, 60000};
  if (dtype == f32 || dtype == f64)
    x.insert(x.end(), {1e5, -1e6, 1e-30, 3e38, -3e38, 8388609, 1e-44});
  std::mt19937 random(7);
  for (int k = 0; k < 200; ++k) x.push_back(static_cast<double>(random() % 20001) / 1000 - 10);
  return x;
}

TEST(Fused, FunctionsOfOneFloatMatchLibm) {
  for (const UnaryCase& c : kUnary) {
    for (DType dtype : kFloats) {
      const Buffer x = Numbers(dtype, Arguments(dtype));
      const Buffer y = Unary(c.op, dtype, x);
      std::vector<double> want;
      for (int64_t i = 0; i < x.n; ++i) {
        Buffer rounded(dtype, 1);
        rounded.Set(0, c.want(x.At(i)));
        want.push_back(dtype == f64 ? c.want(x.At(i)) : rounded.At(0));
      }
      EXPECT_TRUE(Near(y, want, Tolerance(dtype))) << c.name;
      for (int64_t i = 0; i < x.n; ++i) {
        if (want[static_cast<size_t>(i)] == 0 && y.At(i) == 0 && x.At(i) == 0) {
          EXPECT_EQ(std::signbit(y.At(i)), std::signbit(want[static_cast<size_t>(i)]))
              << c.name << " " << dtype.name() << " of zero";
        }
      }
    }
  }
}

TEST(Fused, Expm1OfLargeNumbersIsInfinite) {
  for (DType dtype : kFloats) {
    const Buffer x = Numbers(dtype, {65504, 100, -65504, kInf, -kInf, kNan});
    const double hundred = dtype == f64 ? std::expm1(100) : kInf;
    EXPECT_TRUE(Near(Unary(kExpm1, dtype, x), {kInf, hundred, -1, kInf, -1, kNan}, 1e-12))
        << dtype.name();
  }
  EXPECT_TRUE(Near(Unary(kExpm1, f32, Numbers(f32, {89, 1e30, 3e38})), {kInf, kInf, kInf}, 0));
}

TEST(Fused, ErfInvAndDigammaInvertTheirDefinitions) {
  std::vector<double> x, want;
  for (double y = -3; y <= 3; y += 0.125) {
    x.push_back(std::erf(y));
    want.push_back(y);
  }
  EXPECT_TRUE(Near(Unary(kErfInv, f64, Numbers(f64, x)), want, 3e-9));
  EXPECT_TRUE(
      Near(Unary(kErfInv, f64, Numbers(f64, {1, -1, 2, kNan})), {kInf, -kInf, kNan, kNan}, 0));
  // psi(1) = -gamma, psi(1/2) = -gamma - 2 ln 2, psi(x + 1) = psi(x) + 1/x.
  constexpr double kGamma = 0.57721566490153286061;
  const double half = -kGamma - 2 * std::log(2.0);
  double ten = half;
  for (int k = 0; k < 10; ++k) ten += 1 / (k + 0.5);
  EXPECT_TRUE(Near(Unary(kDigamma, f64, Numbers(f64, {1, 2, 0.5, -0.5, 10.5, -1})),
                   {-kGamma, 1 - kGamma, half, half + 2, ten, kNan}, 1e-12));
  for (DType dtype : kFloats)
    EXPECT_TRUE(
        Near(Unary(kDigamma, dtype, Numbers(dtype, {0.0, -0.0, -3})), {kNan, kNan, kNan}, 0));
}

double NanMax(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
double NanMin(double a, double b) { return -NanMax(-a, -b); }

struct BinaryCase {
  const char* name;
  ScalarOp op;
  double (*want)(double, double);
  bool to_bool = false;
};
constexpr BinaryCase kBinary[] = {
    {"add", kAdd, [](double a, double b) { return a + b; }},
    {"sub", kSub, [](double a, double b) { return a - b; }},
    {"mul", kMul, [](double a, double b) { return a * b; }},
    {"div", kDiv, [](double a, double b) { return a / b; }},
    {"rem", kRem, [](double a, double b) { return std::fmod(a, b); }},
    {"pow", kPow, [](double a, double b) { return std::pow(a, b); }},
    {"max", kMax, NanMax},
    {"min", kMin, NanMin},
    {"atan2", kAtan2, [](double a, double b) { return std::atan2(a, b); }},
    {"eq", kEq, [](double a, double b) { return double(a == b); }, true},
    {"ne", kNe, [](double a, double b) { return double(a != b); }, true},
    {"lt", kLt, [](double a, double b) { return double(a < b); }, true},
    {"le", kLe, [](double a, double b) { return double(a <= b); }, true},
    {"gt", kGt, [](double a, double b) { return double(a > b); }, true},
    {"ge", kGe, [](double a, double b) { return double(a >= b); }, true},
};

TEST(Fused, FunctionsOfTwoFloatsMatchLibm) {
  const std::vector<double> values = {0.0,  -0.0, 1,     -1,   0.5, -2,    3,
                                      7.25, kInf, -kInf, kNan, 100, -0.125};
  std::vector<double> a, b;
  for (double x : values)
    for (double y : values) a.push_back(x), b.push_back(y);
  for (const BinaryCase& c : kBinary) {
    for (DType dtype : kFloats) {
      const Buffer x = Numbers(dtype, a), y = Numbers(dtype, b);
      const DType out = c.to_bool ? bool_ : dtype;
      const Buffer z = Binary(c.op, out, x, y);
      Buffer want(out, x.n);
      for (int64_t i = 0; i < x.n; ++i) want.Set(i, c.want(x.At(i), y.At(i)));
      std::vector<double> numbers;
      for (int64_t i = 0; i < x.n; ++i) numbers.push_back(want.At(i));
      EXPECT_TRUE(Near(z, numbers, c.to_bool ? 0 : Tolerance(dtype))) << c.name;
      if (c.op == kMax || c.op == kMin || c.to_bool) {
        EXPECT_TRUE(SameBits(z, want)) << c.name;
      }
    }
  }
}

__extension__ using Signed128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;

// Functions of integers as the README of the conformance values defines them.
template <class T>
T IntegerWant(ScalarOp op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const auto wide = [](T v) { return static_cast<uint64_t>(v); };
  const bool beyond = static_cast<U>(b) >= sizeof(T) * 8;
  switch (op) {
    case kAdd:
      return static_cast<T>(wide(a) + wide(b));
    case kSub:
      return static_cast<T>(wide(a) - wide(b));
    case kMul:
      return static_cast<T>(wide(a) * wide(b));
    case kDiv:
      if (b == 0) return static_cast<T>(-1);
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(-wide(a));
      return static_cast<T>(a / b);
    case kRem:
      if (b == 0) return a;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
      return static_cast<T>(a % b);
    case kMax:
      return std::max(a, b);
    case kMin:
      return std::min(a, b);
    case kAnd:
      return a & b;
    case kOr:
      return a | b;
    case kXor:
      return a ^ b;
    case kMulHigh: {
      using Whole = std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>;
      return static_cast<T>(static_cast<Whole>(a) * static_cast<Whole>(b) >> (sizeof(T) * 8));
    }
    case kShiftLeft:
      return beyond ? T{0} : static_cast<T>(static_cast<U>(a) << b);
    case kShiftRightLogical:
      return beyond ? T{0} : static_cast<T>(static_cast<U>(a) >> b);
    default: {
      const auto s = static_cast<std::make_signed_t<T>>(a);
      return static_cast<T>(beyond ? (s < 0 ? -1 : 0) : s >> b);
    }
  }
}

TEST(Fused, FunctionsOfIntegersWrap) {
  constexpr ScalarOp kOps[] = {kAdd,
                               kSub,
                               kMul,
                               kDiv,
                               kRem,
                               kMax,
                               kMin,
                               kAnd,
                               kOr,
                               kXor,
                               kMulHigh,
                               kShiftLeft,
                               kShiftRightLogical,
                               kShiftRightArithmetic};
  for (DType dtype : test::kIntegers) {
    base::VisitDType(dtype, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        constexpr T kLow = std::numeric_limits<T>::lowest(), kHigh = std::numeric_limits<T>::max();
        const T values[] = {0,
                            1,
                            2,
                            3,
                            7,
                            100,
                            static_cast<T>(-1),
                            static_cast<T>(-5),
                            kLow,
                            kHigh,
                            static_cast<T>(kHigh - 1),
                            sizeof(T) * 8,
                            sizeof(T) * 8 - 1};
        constexpr int64_t kN = static_cast<int64_t>(std::size(values));
        Buffer a(dtype, kN * kN), b(dtype, kN * kN), want(dtype, kN * kN);
        for (int64_t i = 0; i < kN * kN; ++i)
          a.as<T>()[i] = values[i / kN], b.as<T>()[i] = values[i % kN];
        for (ScalarOp op : kOps) {
          for (int64_t i = 0; i < kN * kN; ++i)
            want.as<T>()[i] = IntegerWant<T>(op, a.as<T>()[i], b.as<T>()[i]);
          EXPECT_TRUE(SameBits(Binary(op, dtype, a, b), want)) << "op " << static_cast<int>(op);
        }
      }
    });
  }
}

TEST(Fused, NegativePowersOfIntegersTakeTheExponentsLowBits) {
  const Buffer x = Numbers(i8, {7, 5, -1, 2, 3}), y = Numbers(i8, {-2, -1, -128, -1, 4});
  EXPECT_TRUE(Near(Binary(kPow, i8, x, y), {-47, -51, 1, 0, 81}, 0));
  const Buffer a = Numbers(i64, {-1, 1, 0}), b = Numbers(i64, {-3, -5, -1});
  EXPECT_TRUE(Near(Binary(kPow, i64, a, b), {-1, 1, 0}, 0));
}

TEST(Fused, BitCountsOfIntegers) {
  EXPECT_TRUE(Near(Unary(kPopulationCount, i8, Numbers(i8, {-1, 0, 3, -128})), {8, 0, 2, 1}, 0));
  EXPECT_TRUE(Near(Unary(kClz, i8, Numbers(i8, {-1, 0, 3, 1})), {0, 8, 6, 7}, 0));
  EXPECT_TRUE(Near(Unary(kClz, u16, Numbers(u16, {0, 1, 65535})), {16, 15, 0}, 0));
  EXPECT_TRUE(Near(Unary(kClz, i64, Numbers(i64, {0, 1, -1})), {64, 63, 0}, 0));
  EXPECT_TRUE(Near(Unary(kNot, u8, Numbers(u8, {0, 255, 1})), {255, 0, 254}, 0));
  EXPECT_TRUE(Near(Unary(kNot, bool_, Numbers(bool_, {0, 1})), {1, 0}, 0));
  EXPECT_TRUE(Near(Unary(kNeg, u8, Numbers(u8, {0, 1, 255})), {0, 255, 1}, 0));
  EXPECT_TRUE(Near(Unary(kAbs, i8, Numbers(i8, {-128, -3, 3})), {-128, 3, 3}, 0));
  EXPECT_TRUE(Near(Unary(kSign, i16, Numbers(i16, {-128, 0, 3})), {-1, 0, 1}, 0));
}

template <class To, class From>
To ConvertWant(From v) {
  if constexpr (std::is_class_v<From>)
    return ConvertWant<To>(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, bool>)
    return v != 0;
  else if constexpr (std::is_class_v<To>)
    return To(static_cast<float>(v));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(v)) return 0;
    const auto wide = static_cast<long double>(v);
    if (wide >= static_cast<long double>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    if (wide <= static_cast<long double>(std::numeric_limits<To>::lowest()))
      return std::numeric_limits<To>::lowest();
    return static_cast<To>(v);
  } else
    return static_cast<To>(v);
}

TEST(Fused, ConvertsAmongAllDTypes) {
  for (DType from : kAllDTypes) {
    Buffer x = Random(from, 203, 3, true);
    base::VisitDType(from, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_floating_point_v<T>)
        x.as<T>()[5] = T(3e9), x.as<T>()[6] = T(-3e9), x.as<T>()[7] = T(1e30);
      else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        x.as<T>()[5] = std::numeric_limits<T>::max(),
        x.as<T>()[6] = std::numeric_limits<T>::lowest();
    });
    for (DType to : kAllDTypes) {
      Buffer want(to, x.n);
      base::VisitDType(from, [&](auto f) {
        base::VisitDType(to, [&](auto t) {
          using From = decltype(f);
          using To = decltype(t);
          for (int64_t i = 0; i < x.n; ++i) want.as<To>()[i] = ConvertWant<To>(x.as<From>()[i]);
        });
      });
      EXPECT_TRUE(SameBits(Unary(kConvert, to, x), want)) << from.name() << " to " << to.name();
    }
  }
}

// Rounding to f32 first would make each of these a tie, and then round the tie to the
// other neighbour.
TEST(Fused, ConvertsToSmallFloatsWithOneRounding) {
  const double up = 1 + 0x1p-11 + 0x1p-40, down = 1 + 0x1p-10 + 0x1p-11 - 0x1p-40;
  EXPECT_TRUE(Near(Unary(kConvert, f16, Numbers(f64, {up, down, -up, 0x1p-25 + 0x1p-60, 1e300})),
                   {1 + 0x1p-10, 1 + 0x1p-10, -1 - 0x1p-10, 0x1p-24, kInf}, 0));
  EXPECT_TRUE(Near(Unary(kConvert, bf16, Numbers(f64, {1 + 0x1p-8 + 0x1p-40, 1e-300, kNan, -kInf})),
                   {1 + 0x1p-7, 0, kNan, -kInf}, 0));
  Buffer wide(i64, 2);
  wide.as<int64_t>()[0] = (int64_t{1} << 40) + (int64_t{1} << 32) + 1, wide.as<int64_t>()[1] = -1;
  EXPECT_TRUE(Near(Unary(kConvert, bf16, wide), {0x1p40 + 0x1p33, -1}, 0));
}

TEST(Fused, SelectPicksTheSecondCaseWhereTrue) {
  for (DType dtype : kAllDTypes) {
    for (bool first_computed : {false, true}) {
      Group g({4});
      const int p = g.Input(bool_), a = g.Input(dtype), b = g.Input(dtype);
      // The operand in the accumulator decides which kernel selects.
      const int a2 = first_computed ? g.Op(kMax, dtype, a, a) : a;
      const int b2 = first_computed ? b : g.Op(kMax, dtype, b, b);
      g.Output(g.Op(kSelect, dtype, p, a2, b2));
      const Buffer mask = Numbers(bool_, {0, 1, 1, 0});
      const Buffer x = Numbers(dtype, {0, 0, 1, 1}), y = Numbers(dtype, {1, 1, 0, 0});
      Buffer z(dtype, 4);
      Call(Fused(g.desc), {&mask, &x, &y}, {&z});
      EXPECT_TRUE(Near(z, {0, 1, 0, 1}, 0)) << dtype.name() << " first " << first_computed;
    }
  }
}

TEST(Fused, ClampTakesItsBoundsAroundTheOperand) {
  for (DType dtype : {i8, u64, bf16, f32, f64}) {
    Group g({3});
    const int low = g.Constant(dtype, 2), x = g.Input(dtype), high = g.Constant(dtype, 5);
    g.Output(g.Op(kClamp, dtype, low, x, high));
    const Buffer in = Numbers(dtype, {1, 3, 9});
    Buffer out(dtype, 3);
    Call(Fused(g.desc), {&in}, {&out});
    EXPECT_TRUE(Near(out, {2, 3, 5}, 0)) << dtype.name();
  }
}

TEST(Fused, NextafterStepsInTheDTypesOwnNumbers) {
  for (DType dtype : kFloats) {
    const Buffer x = Numbers(dtype, {1, 1, 0, 0, -1, kNan, 1});
    const Buffer y = Numbers(dtype, {2, 0, 1, -1, 0, 1, 1});
    const Buffer z = Binary(kNextafter, dtype, x, y);
    const double eps = dtype == f64   ? 0x1p-52
                       : dtype == f32 ? 0x1p-23
                       : dtype == f16 ? 0x1p-10
                                      : 0x1p-7;
    EXPECT_EQ(z.At(0), 1 + eps) << dtype.name();
    EXPECT_EQ(z.At(1), 1 - eps / 2) << dtype.name();
    EXPECT_GT(z.At(2), 0) << dtype.name();
    EXPECT_EQ(z.At(2), -z.At(3)) << dtype.name();
    EXPECT_EQ(z.At(4), -1 + eps / 2) << dtype.name();
    EXPECT_TRUE(std::isnan(z.At(5)));
    EXPECT_EQ(z.At(6), 1);
  }
}

}  // namespace
}  // namespace tessera::kernels

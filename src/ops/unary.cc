// Elementwise ops of one operand.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/derivatives.h"
#include "ops/elementwise.h"

namespace tessera::ops {
namespace {

using namespace reference;  // for the references in the records

// C17: the dtype to convert to must be given.
std::vector<ShapeAndDType> ConvertType(const TypeCall& c) {
  CheckCount(c, 1);
  if (!c.wanted || c.wanted->dtype.is_default())
    c.FailDType(17, "the dtype to convert to is not given");
  return {{c.operands[0]->shape(), c.wanted->dtype}};
}

// Rounding to integers does not commute with sums, so only conversions to floats are linear.
DimMap ConvertDims(const ir::DimsCall& c) {
  return c.to_float ? Dims<Linear::kFirst>(c) : Dims<Linear::kNone>(c);
}

// ---- References that the C++ library lacks ------------------------------------------------------

double Sign(double x) {
  if (std::isnan(x) || x == 0) return x;
  return x > 0 ? 1 : -1;
}

double Lgamma(double x) {
  int sign;  // std::lgamma writes a global instead
  return lgamma_r(x, &sign);
}

double Negative(double x) { return -x; }
double Rsqrt(double x) { return 1 / std::sqrt(x); }
double Logistic(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

// Whether erf(y) >= a. Near 1 compares the complements: 1 - a is exact there, and
// erf(y) has no digits left.
bool ErfReaches(double y, double a) {
  const long double wide = y;
  return a < 0.5 ? std::erf(wide) >= a : std::erfc(wide) <= 1 - a;
}

// Returns the least double y with erf(y) >= |x|, with the sign of x. Bisects the bits, which are
// ordered like the positive doubles.
double ErfInv(double x) {
  const double a = std::fabs(x);
  if (!(a <= 1)) return kNaN;
  if (a == 1) return std::copysign(kInf, x);
  if (a == 0) return x;
  uint64_t below = 0, reached = std::bit_cast<uint64_t>(8.0);  // erfc(8) < 1e-28
  while (reached - below > 1) {
    const uint64_t middle = below + (reached - below) / 2;
    if (ErfReaches(std::bit_cast<double>(middle), a))
      reached = middle;
    else
      below = middle;
  }
  return std::copysign(std::bit_cast<double>(reached), x);
}

// Abramowitz and Stegun, "Handbook of Mathematical Functions": the reflection 6.3.7,
// then the recurrence 6.3.5 up to where the asymptotic series 6.3.18 is short. NaN at 0
// and the negative integers.
double Digamma(double x) {
  if (std::isnan(x) || x == kInf) return x;
  if (x <= 0 && x == std::floor(x)) return kNaN;
  long double reflected = 0, y = x;
  if (y < 0) {
    // tan(pi x) has the period 1: reducing its argument keeps the digits near a pole.
    const long double pi = std::numbers::pi_v<long double>, part = y - std::round(y);
    reflected = -pi / std::tan(pi * part);
    y = 1 - y;
  }
  long double sum = 0;
  for (; y < 16; y += 1) sum -= 1 / y;
  // B(2k) / 2k. The first term that is left out is below 1e-21 at y >= 16.
  constexpr long double kTerms[] = {1.0L / 12,  -1.0L / 120,     1.0L / 252, -1.0L / 240,
                                    1.0L / 132, -691.0L / 32760, 1.0L / 12,  -3617.0L / 8160};
  long double series = 0, power = 1;
  for (long double term : kTerms) {
    power /= y * y;
    series += term * power;
  }
  return static_cast<double>(reflected + sum + std::log(y) - 1 / (2 * y) - series);
}

// e^-|x| I_n(x) by the power series, whose terms have one sign (Abramowitz and Stegun, 9.6.10), or
// by the asymptotic series (9.7.1) where its least term is below 1e-25.
template <int n>
double ScaledBessel(double x) {
  const long double a = std::fabs(x);
  long double sum = 0;
  if (a < 30) {
    long double term = n == 0 ? 1 : a / 2;
    for (int k = 1; term > sum * 1e-22L; ++k) {
      sum += term;
      term *= a * a / 4 / (k * (k + n));
    }
    sum *= std::exp(-a);
  } else {
    long double term = 1;
    for (int k = 1; std::fabs(term) > 1e-22L; ++k) {
      sum += term;
      term *= ((2 * k - 1) * (2 * k - 1) - 4 * n * n) / (8 * k * a);
    }
    sum /= std::sqrt(2 * std::numbers::pi_v<long double> * a);
  }
  return static_cast<double>(n == 0 ? sum : std::copysign(sum, static_cast<long double>(x)));
}

double Rectified(double x) { return x <= 0 ? 0 : x; }
int64_t RectifiedInt(Int x) { return x.negative() ? 0 : x.value; }
int64_t Magnitude(Int x) { return x.negative() ? Negated(x) : x.value; }
int64_t IntSign(Int x) { return x.negative() ? -1 : x.value != 0; }
int64_t PopulationCount(Int x) { return std::popcount(x.bits()); }
int64_t LeadingZeros(Int x) { return std::countl_zero(x.bits()) - (64 - x.width()); }
int64_t Not(Int x) { return x.dtype.is_bool() ? x.value == 0 : ~x.value; }

void IsFinite(const ElementCall& e) { e.SetInt(std::isfinite(e.Float(0))); }

// Saturates; NaN gives 0.
int64_t ToInt(DType dtype, double v) {
  const int digits = dtype.size() * 8 - int{dtype.is_signed()};
  const double end = std::ldexp(1.0, digits);  // the first number above the highest
  if (std::isnan(v)) return 0;
  if (v >= end) return HighestInt(dtype);
  if (v <= (dtype.is_signed() ? -end : 0)) return LowestInt(dtype);
  return dtype.is_signed() ? static_cast<int64_t>(v) : Wrap(static_cast<uint64_t>(v));
}

void Convert(const ElementCall& e) {
  const DType from = e.dtype(), to = e.result_dtype();
  if (to.is_floating()) {
    if (from.is_floating())
      e.SetFloat(e.Float(0));
    else if (from.is_signed())
      e.SetFloat(static_cast<long double>(e.IntOf(0).value));
    else
      e.SetFloat(static_cast<long double>(e.IntOf(0).wrapped()));
  } else if (!from.is_floating()) {
    e.SetInt(e.IntOf(0).value);
  } else if (to.is_bool()) {
    e.SetInt(e.Float(0) != 0);
  } else {
    e.SetInt(ToInt(to, e.Float(0)));
  }
}

// ---- Derivatives --------------------------------------------------------------------------------

constexpr double kTwoOverRootPi = 2 * std::numbers::inv_sqrtpi_v<double>;

ir::ValueId NegTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return (-X(c.builder, cotangent)).id();
}

// i1e'(x) = i0e(x) - i1e(x) (sign(x) + 1/x), which is 1/2 at 0.
constexpr auto BesselI1eFormula = [](X g, X x, X y) {
  const X at_zero = Equal(x, x.Number(0));
  const X safe = Where(at_zero, x.Number(1), x);
  return g * Where(at_zero, x.Number(0.5),
                   Apply(ScalarOp::kBesselI0e, {safe}) - y * (Sign(safe) + 1 / safe));
};

using enum ScalarOp;
using enum Class;
using enum Linear;

constexpr OpDef kUnaryOps[] = {
    Unary({.name = "neg",
           .doc = "-x",
           .op = kNeg,
           .takes = kNumber,
           .linear = kFirst,
           .reference = Numbers<Negative, Negated>,
           .diff = ir::Derivative{.transpose = NegTranspose}}),
    Unary({.name = "abs",
           .doc = "Absolute value.",
           .op = kAbs,
           .takes = kNumber,
           .reference = Numbers<std::fabs, Magnitude>,
           // The derivative from above at 0, as in JAX.
           .diff = By<[](X g, X x, X) {
             return g * Where(Less(x, x.Number(0)), x.Number(-1), x.Number(1));
           }>()}),
    Unary({.name = "relu",
           .doc = "max(x, 0); its derivative at 0 is 0.",
           .op = kRelu,
           .takes = kNumber,
           .reference = Numbers<Rectified, RectifiedInt>,
           .diff = By<[](X g, X x, X) { return Where(Less(x.Number(0), x), g, g.Number(0)); }>()}),
    Unary({.name = "sign",
           .doc = "-1, 0 or 1; keeps -0 and NaN.",
           .op = kSign,
           .takes = kNumber,
           .reference = Numbers<Sign, IntSign>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "floor",
           .doc = "Largest integer not above x.",
           .op = kFloor,
           .takes = kFloat,
           .reference = Floats<std::floor>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "ceil",
           .doc = "Least integer not below x.",
           .op = kCeil,
           .takes = kFloat,
           .reference = Floats<std::ceil>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "exp",
           .doc = "e^x",
           .op = kExp,
           .takes = kFloat,
           .flops = 10,
           .reference = Floats<std::exp>,
           .diff = By<[](X g, X, X y) { return g * y; }>()}),
    Unary({.name = "exp2",
           .doc = "2^x",
           .op = kExp2,
           .takes = kFloat,
           .flops = 10,
           .reference = Floats<std::exp2>,
           .diff = By<[](X g, X, X y) { return g * (std::numbers::ln2 * y); }>()}),
    Unary({.name = "expm1",
           .doc = "e^x - 1",
           .op = kExpm1,
           .takes = kFloat,
           .flops = 15,
           .reference = Floats<std::expm1>,
           .diff = By<[](X g, X, X y) { return g * (y + 1); }>()}),
    Unary({.name = "log",
           .doc = "Natural logarithm.",
           .op = kLog,
           .takes = kFloat,
           .flops = 10,
           .reference = Floats<std::log>,
           .diff = By<[](X g, X x, X) { return g / x; }>()}),
    Unary({.name = "log1p",
           .doc = "log(1 + x)",
           .op = kLog1p,
           .takes = kFloat,
           .flops = 15,
           .reference = Floats<std::log1p>,
           .diff = By<[](X g, X x, X) { return g / (x + 1); }>()}),
    Unary({.name = "sqrt",
           .doc = "Square root.",
           .op = kSqrt,
           .takes = kFloat,
           .flops = 4,
           .reference = Floats<std::sqrt>,
           .diff = By<[](X g, X, X y) { return g / (2 * y); }>()}),
    Unary({.name = "rsqrt",
           .doc = "1 / sqrt(x)",
           .op = kRsqrt,
           .takes = kFloat,
           .flops = 5,
           .reference = Floats<Rsqrt>,
           .diff = By<[](X g, X x, X y) { return g * (-0.5 * y / x); }>()}),
    Unary({.name = "cbrt",
           .doc = "Cube root.",
           .op = kCbrt,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::cbrt>,
           .diff = By<[](X g, X, X y) { return g / (3 * y * y); }>()}),
    Unary({.name = "sin",
           .doc = "Sine.",
           .op = kSin,
           .takes = kFloat,
           .flops = 15,
           .reference = Floats<std::sin>,
           .diff = By<[](X g, X x, X) { return g * Cos(x); }>()}),
    Unary({.name = "cos",
           .doc = "Cosine.",
           .op = kCos,
           .takes = kFloat,
           .flops = 15,
           .reference = Floats<std::cos>,
           .diff = By<[](X g, X x, X) { return g * -Sin(x); }>()}),
    Unary({.name = "tan",
           .doc = "Tangent.",
           .op = kTan,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::tan>,
           .diff = By<[](X g, X, X y) { return g * (1 + y * y); }>()}),
    Unary({.name = "asin",
           .doc = "Inverse sine.",
           .op = kAsin,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::asin>,
           .diff = By<[](X g, X x, X) { return g * Rsqrt((1 - x) * (1 + x)); }>()}),
    Unary({.name = "acos",
           .doc = "Inverse cosine.",
           .op = kAcos,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::acos>,
           .diff = By<[](X g, X x, X) { return g * -Rsqrt((1 - x) * (1 + x)); }>()}),
    Unary({.name = "atan",
           .doc = "Inverse tangent.",
           .op = kAtan,
           .takes = kFloat,
           .flops = 15,
           .reference = Floats<std::atan>,
           .diff = By<[](X g, X x, X) { return g / (1 + x * x); }>()}),
    Unary({.name = "sinh",
           .doc = "Hyperbolic sine.",
           .op = kSinh,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::sinh>,
           .diff = By<[](X g, X x, X) { return g * Cosh(x); }>()}),
    Unary({.name = "cosh",
           .doc = "Hyperbolic cosine.",
           .op = kCosh,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::cosh>,
           .diff = By<[](X g, X x, X) { return g * Sinh(x); }>()}),
    Unary({.name = "tanh",
           .doc = "Hyperbolic tangent.",
           .op = kTanh,
           .takes = kFloat,
           .flops = 15,
           .reference = Floats<std::tanh>,
           .diff = By<[](X g, X, X y) { return g * ((1 - y) * (1 + y)); }>()}),
    Unary({.name = "asinh",
           .doc = "Inverse hyperbolic sine.",
           .op = kAsinh,
           .takes = kFloat,
           .flops = 25,
           .reference = Floats<std::asinh>,
           .diff = By<[](X g, X x, X) { return g * Rsqrt(x * x + 1); }>()}),
    Unary({.name = "acosh",
           .doc = "Inverse hyperbolic cosine.",
           .op = kAcosh,
           .takes = kFloat,
           .flops = 25,
           .reference = Floats<std::acosh>,
           .diff = By<[](X g, X x, X) { return g * Rsqrt((x - 1) * (x + 1)); }>()}),
    Unary({.name = "atanh",
           .doc = "Inverse hyperbolic tangent.",
           .op = kAtanh,
           .takes = kFloat,
           .flops = 25,
           .reference = Floats<std::atanh>,
           .diff = By<[](X g, X x, X) { return g / ((1 - x) * (1 + x)); }>()}),
    Unary({.name = "erf",
           .doc = "Error function.",
           .op = kErf,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::erf>,
           .diff = By<[](X g, X x, X) { return g * (kTwoOverRootPi * Exp(-(x * x))); }>()}),
    Unary({.name = "erfc",
           .doc = "1 - erf(x)",
           .op = kErfc,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::erfc>,
           .diff = By<[](X g, X x, X) { return g * (-kTwoOverRootPi * Exp(-(x * x))); }>()}),
    Unary({.name = "erf_inv",
           .doc = "Inverse of erf.",
           .op = kErfInv,
           .takes = kFloat,
           .flops = 25,
           .reference = Floats<ErfInv>,
           .diff = By<[](X g, X, X y) { return g * (1 / kTwoOverRootPi * Exp(y * y)); }>()}),
    Unary({.name = "lgamma",
           .doc = "log |gamma(x)|",
           .op = kLgamma,
           .takes = kFloat,
           .flops = 40,
           .reference = Floats<Lgamma>,
           .diff = By<[](X g, X x, X) { return g * Digamma(x); }>()}),
    Unary({.name = "digamma",
           .doc = "Derivative of lgamma.",
           .op = kDigamma,
           .takes = kFloat,
           .flops = 40,
           .reference = Floats<Digamma>,
           .diff = By<[](X g, X x, X) { return g * Zeta(x.Number(2), x); }>()}),
    Unary({.name = "logistic",
           .doc = "1 / (1 + e^-x)",
           .op = kLogistic,
           .takes = kFloat,
           .flops = 12,
           .reference = Floats<Logistic>,
           .diff = By<[](X g, X, X y) { return g * (y * (1 - y)); }>()}),
    Unary({.name = "bessel_i0e",
           .doc = "e^-|x| I_0(x), the modified Bessel function of order 0, scaled.",
           .op = kBesselI0e,
           .takes = kFloat,
           .flops = 70,
           .reference = Floats<ScaledBessel<0>>,
           .diff = By<[](X g, X x, X y) { return g * (Apply(kBesselI1e, {x}) - Sign(x) * y); }>()}),
    Unary({.name = "bessel_i1e",
           .doc = "e^-|x| I_1(x), the modified Bessel function of order 1, scaled.",
           .op = kBesselI1e,
           .takes = kFloat,
           .flops = 70,
           .reference = Floats<ScaledBessel<1>>,
           .diff = By<BesselI1eFormula>()}),
    Unary({.name = "is_finite",
           .doc = "Neither infinite nor NaN.",
           .op = kIsFinite,
           .takes = kFloat,
           .to_bool = true,
           .reference = Elements<IsFinite>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "bitwise_not",
           .doc = "Every bit flipped; for bool: not.",
           .op = kNot,
           .takes = kBits,
           .reference = Ints<Not>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "population_count",
           .doc = "Number of set bits.",
           .op = kPopulationCount,
           .takes = kInteger,
           .flops = 2,
           .reference = Ints<PopulationCount>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "clz",
           .doc = "Number of leading zero bits.",
           .op = kClz,
           .takes = kInteger,
           .flops = 2,
           .reference = Ints<LeadingZeros>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "round",
           .doc = "Nearest integer; ties to even.",
           .op = kRoundEven,
           .takes = kFloat,
           .reference = Floats<std::nearbyint>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "round_away",
           .doc = "Nearest integer; ties away from zero.",
           .op = kRoundAway,
           .takes = kFloat,
           .reference = Floats<std::round>,
           .diff = kZeroAlmostEverywhere}),
    OpDef{.name = "convert_element_type",
          .doc = "x as another dtype: float to int saturates, int to int wraps.",
          .type = ir::TypeFn{ConvertType},
          .dims = ir::DimMapFn{ConvertDims},
          .lowering = ir::AsElementwise{kConvert},
          .reference = Elements<Convert>,
          .diff = ir::Derivative{.transpose = Same},
          .flops_per_point = 1},
};
static_assert(Complete<kUnaryOps, 1, 1>());

}  // namespace

absl::Span<const OpDef> UnaryOps() { return kUnaryOps; }

}  // namespace tessera::ops

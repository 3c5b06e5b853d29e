// Elementwise ops of one operand.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/derivatives.h"
#include "ops/elementwise.h"
#include "ops/slopes.h"

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
LongComplex Negative(const LongComplex& z) { return -z; }
LongComplex Conjugate(const LongComplex& z) { return std::conj(z); }
LongComplex Sign(const LongComplex& z) { return z == LongComplex(0) ? z : z / std::abs(z); }
LongComplex Rsqrt(const LongComplex& z) { return LongComplex(1) / std::sqrt(z); }
LongComplex Exp2(const LongComplex& z) { return std::exp(z * std::numbers::ln2_v<long double>); }
LongComplex Logistic(const LongComplex& z) {
  return LongComplex(1) / (LongComplex(1) + std::exp(-z));
}

// e^a cos(b) - 1 = expm1(a) cos(b) - 2 sin(b/2)^2 keeps its digits near 0.
LongComplex Expm1(const LongComplex& z) {
  const long double a = z.real(), b = z.imag(), half = std::sin(b / 2);
  return {std::expm1(a) * std::cos(b) - 2 * half * half, std::exp(a) * std::sin(b)};
}

// |1 + z|^2 - 1 = a (2 + a) + b^2 keeps its digits near 0.
LongComplex Log1p(const LongComplex& z) {
  const long double a = z.real(), b = z.imag(), angle = std::atan2(b, 1 + a);
  const bool near = std::abs(z) < 0.5L;
  return {near ? std::log1p(a * (2 + a) + b * b) / 2 : std::log(std::hypot(1 + a, b)), angle};
}

void RealPart(const ElementCall& e) { e.SetFloat(e.ComplexOf(0).real()); }
void ImaginaryPart(const ElementCall& e) { e.SetFloat(e.ComplexOf(0).imag()); }
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

void Absolute(const ir::ReferenceCall& call) {
  if (!call.operands[0]->dtype.is_complex()) return Numbers<std::fabs, Magnitude>(call);
  ForEachElement(call, [](const ElementCall& e) { e.SetFloat(std::abs(e.ComplexOf(0))); });
}
void IsFinite(const ElementCall& e) {
  const LongComplex z = e.ComplexOf(0);
  e.SetInt(std::isfinite(z.real()) && std::isfinite(z.imag()));
}

// Saturates; NaN gives 0.
int64_t ToInt(DType dtype, double v) {
  const int digits = dtype.bits() - int{dtype.is_signed()};
  const double end = std::ldexp(1.0, digits);  // the first number above the highest
  if (std::isnan(v)) return 0;
  if (v >= end) return HighestInt(dtype);
  if (v <= (dtype.is_signed() ? -end : 0)) return LowestInt(dtype);
  return dtype.is_signed() ? static_cast<int64_t>(v) : Wrap(static_cast<uint64_t>(v));
}

void Convert(const ElementCall& e) {
  const DType from = e.dtype(), to = e.result_dtype();
  if (from.is_complex() && to.is_bool()) return e.SetInt(e.ComplexOf(0) != LongComplex(0));
  if (from.is_complex() && to.is_complex()) return e.SetComplex(e.ComplexOf(0));
  if (to.is_inexact()) {
    if (from.is_inexact())
      e.SetFloat(e.Float(0));
    else if (from.is_signed())
      e.SetFloat(static_cast<long double>(e.IntOf(0).value));
    else
      e.SetFloat(static_cast<long double>(e.IntOf(0).wrapped()));
  } else if (!from.is_inexact()) {
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

// As in JAX, transposes do not conjugate: the cotangent of a complex number x + iy with the
// derivatives a by x and b by y is a - ib.
ir::ValueId RealTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const X ct(c.builder, cotangent);
  return ComplexOf(ct, ZerosLike(ct)).id();
}
ir::ValueId ImagTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const X ct(c.builder, cotangent);
  return ComplexOf(ZerosLike(ct), -ct).id();
}
ir::ValueId ConjTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return Conj(X(c.builder, cotangent)).id();
}

// At 0: of a real number the derivative from above, of a complex one 0, as in JAX.
constexpr auto AbsFormula = [](X g, X x, X y) {
  if (!x.type()->dtype().is_complex())
    return g * Where(Less(x, x.Number(0)), x.Number(-1), x.Number(1));
  const X safe = Where(Equal(y, y.Number(0)), y.Number(1), y);
  return Real(g * (Conj(x) / ComplexOf(safe, y.Number(0))));
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
           .reference = Either<Negative, Numbers<Negative, Negated>>,
           .diff = ir::Derivative{.transpose = NegTranspose}}),
    Unary({.name = "abs",
           .doc = "Absolute value; of a complex number, its real magnitude.",
           .op = kAbs,
           .takes = kNumber,
           .makes = Makes::kPart,
           .reference = Absolute,
           .diff = By<AbsFormula>()}),
    Unary({.name = "relu",
           .doc = "max(x, 0); its derivative at 0 is 0.",
           .op = kRelu,
           .takes = kRealNumber,
           .reference = Numbers<Rectified, RectifiedInt>,
           .diff = By<[](X g, X x, X) { return Where(Less(x.Number(0), x), g, g.Number(0)); }>()}),
    Unary({.name = "sign",
           .doc = "-1, 0 or 1; keeps -0 and NaN. Of a complex number z: z / |z|, 0 at 0.",
           .op = kSign,
           .takes = kNumber,
           .reference = Either<Sign, Numbers<Sign, IntSign>>,
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
           .takes = kInexact,
           .flops = 10,
           .reference = Inexact<std::exp, std::exp>,
           .diff = By<[](X g, X, X y) { return g * y; }>()}),
    Unary({.name = "exp2",
           .doc = "2^x",
           .op = kExp2,
           .takes = kInexact,
           .flops = 10,
           .reference = Inexact<std::exp2, Exp2>,
           .diff = By<[](X g, X, X y) { return g * (std::numbers::ln2 * y); }>()}),
    Unary({.name = "expm1",
           .doc = "e^x - 1",
           .op = kExpm1,
           .takes = kInexact,
           .flops = 15,
           .reference = Inexact<std::expm1, Expm1>,
           .diff = By<[](X g, X, X y) { return g * (y + 1); }>()}),
    Unary({.name = "log",
           .doc = "Natural logarithm.",
           .op = kLog,
           .takes = kInexact,
           .flops = 10,
           .reference = Inexact<std::log, std::log>,
           .diff = By<[](X g, X x, X) { return g / x; }>()}),
    Unary({.name = "log1p",
           .doc = "log(1 + x)",
           .op = kLog1p,
           .takes = kInexact,
           .flops = 15,
           .reference = Inexact<std::log1p, Log1p>,
           .diff = By<[](X g, X x, X) { return g / (x + 1); }>()}),
    Unary({.name = "sqrt",
           .doc = "Square root.",
           .op = kSqrt,
           .takes = kInexact,
           .flops = 4,
           .reference = Inexact<std::sqrt, std::sqrt>,
           .diff = By<[](X g, X, X y) { return g / (2 * y); }>()}),
    Unary({.name = "rsqrt",
           .doc = "1 / sqrt(x)",
           .op = kRsqrt,
           .takes = kInexact,
           .flops = 5,
           .reference = Inexact<Rsqrt, Rsqrt>,
           .diff = By<[](X g, X x, X y) { return g * (-0.5 * y / x); }>()}),
    Unary({.name = "cbrt",
           .doc = "Cube root.",
           .op = kCbrt,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::cbrt>,
           .diff = By<[](X g, X, X y) { return g / (3 * y) / y; }>()}),
    Unary({.name = "sin",
           .doc = "Sine.",
           .op = kSin,
           .takes = kInexact,
           .flops = 15,
           .reference = Inexact<std::sin, std::sin>,
           .diff = By<[](X g, X x, X) { return g * Cos(x); }>()}),
    Unary({.name = "cos",
           .doc = "Cosine.",
           .op = kCos,
           .takes = kInexact,
           .flops = 15,
           .reference = Inexact<std::cos, std::cos>,
           .diff = By<[](X g, X x, X) { return g * -Sin(x); }>()}),
    Unary({.name = "tan",
           .doc = "Tangent.",
           .op = kTan,
           .takes = kInexact,
           .flops = 20,
           .reference = Inexact<std::tan, std::tan>,
           .diff = By<[](X g, X, X y) { return g * (1 + y * y); }>()}),
    Unary({.name = "asin",
           .doc = "Inverse sine.",
           .op = kAsin,
           .takes = kInexact,
           .flops = 20,
           .reference = Inexact<std::asin, std::asin>,
           .diff = By<[](X g, X x, X) { return g * Rsqrt((1 - x) * (1 + x)); }>()}),
    Unary({.name = "acos",
           .doc = "Inverse cosine.",
           .op = kAcos,
           .takes = kInexact,
           .flops = 20,
           .reference = Inexact<std::acos, std::acos>,
           .diff = By<[](X g, X x, X) { return g * -Rsqrt((1 - x) * (1 + x)); }>()}),
    Unary({.name = "atan",
           .doc = "Inverse tangent.",
           .op = kAtan,
           .takes = kInexact,
           .flops = 15,
           .reference = Inexact<std::atan, std::atan>,
           .diff = By<[](X g, X x, X) { return g * SlopeOfAtan(x); }>()}),
    Unary({.name = "sinh",
           .doc = "Hyperbolic sine.",
           .op = kSinh,
           .takes = kInexact,
           .flops = 20,
           .reference = Inexact<std::sinh, std::sinh>,
           .diff = By<[](X g, X x, X) { return g * Cosh(x); }>()}),
    Unary({.name = "cosh",
           .doc = "Hyperbolic cosine.",
           .op = kCosh,
           .takes = kInexact,
           .flops = 20,
           .reference = Inexact<std::cosh, std::cosh>,
           .diff = By<[](X g, X x, X) { return g * Sinh(x); }>()}),
    Unary({.name = "tanh",
           .doc = "Hyperbolic tangent.",
           .op = kTanh,
           .takes = kInexact,
           .flops = 15,
           .reference = Inexact<std::tanh, std::tanh>,
           .diff = By<[](X g, X, X y) { return g * ((1 - y) * (1 + y)); }>()}),
    Unary({.name = "asinh",
           .doc = "Inverse hyperbolic sine.",
           .op = kAsinh,
           .takes = kInexact,
           .flops = 25,
           .reference = Inexact<std::asinh, std::asinh>,
           .diff = By<[](X g, X x, X) { return g * SlopeOfAsinh(x); }>()}),
    Unary({.name = "acosh",
           .doc = "Inverse hyperbolic cosine.",
           .op = kAcosh,
           .takes = kInexact,
           .flops = 25,
           .reference = Inexact<std::acosh, std::acosh>,
           .diff = By<[](X g, X x, X) { return g * (Rsqrt(x - 1) * Rsqrt(x + 1)); }>()}),
    Unary({.name = "atanh",
           .doc = "Inverse hyperbolic tangent.",
           .op = kAtanh,
           .takes = kInexact,
           .flops = 25,
           .reference = Inexact<std::atanh, std::atanh>,
           .diff = By<[](X g, X x, X) { return g / ((1 - x) * (1 + x)); }>()}),
    Unary({.name = "erf",
           .doc = "Error function.",
           .op = kErf,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::erf>,
           .diff = By<[](X g, X x, X) { return g * (kTwoOverRootPi * Gaussian(x)); }>()}),
    Unary({.name = "erfc",
           .doc = "1 - erf(x)",
           .op = kErfc,
           .takes = kFloat,
           .flops = 20,
           .reference = Floats<std::erfc>,
           .diff = By<[](X g, X x, X) { return g * (-kTwoOverRootPi * Gaussian(x)); }>()}),
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
           .takes = kInexact,
           .flops = 12,
           .reference = Inexact<Logistic, Logistic>,
           .diff = By<[](X g, X, X y) { return g * (y * (1 - y)); }>()}),
    Unary({.name = "bessel_i0e",
           .doc = "e^-|x| I_0(x), the modified Bessel function of order 0, scaled.",
           .op = kBesselI0e,
           .takes = kFloat,
           .flops = 70,
           .reference = Floats<ScaledBessel<0>>,
           .diff = By<[](X g, X x, X y) { return g * SlopeOfI0e(x, y); }>()}),
    Unary({.name = "bessel_i1e",
           .doc = "e^-|x| I_1(x), the modified Bessel function of order 1, scaled.",
           .op = kBesselI1e,
           .takes = kFloat,
           .flops = 70,
           .reference = Floats<ScaledBessel<1>>,
           .diff = By<[](X g, X x, X y) { return g * SlopeOfI1e(x, y); }>()}),
    Unary({.name = "is_finite",
           .doc = "Neither infinite nor NaN; of a complex number, both parts.",
           .op = kIsFinite,
           .takes = kInexact,
           .makes = Makes::kBool,
           .reference = Elements<IsFinite>,
           .diff = kZeroAlmostEverywhere}),
    Unary({.name = "real",
           .doc = "Real part of a complex number.",
           .op = kReal,
           .takes = kComplexNumber,
           .makes = Makes::kPart,
           .linear = kFirst,
           .reference = Elements<RealPart>,
           .diff = ir::Derivative{.transpose = RealTranspose}}),
    Unary({.name = "imag",
           .doc = "Imaginary part of a complex number.",
           .op = kImag,
           .takes = kComplexNumber,
           .makes = Makes::kPart,
           .linear = kFirst,
           .reference = Elements<ImaginaryPart>,
           .diff = ir::Derivative{.transpose = ImagTranspose}}),
    Unary({.name = "conj",
           .doc = "Complex conjugate.",
           .op = kConj,
           .takes = kComplexNumber,
           .linear = kFirst,
           .reference = Complexes<Conjugate>,
           .diff = ir::Derivative{.transpose = ConjTranspose}}),
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
          .doc =
              "x as another dtype: float to int saturates, int to int wraps, and complex to real "
              "takes the real part.",
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

// One row per elementwise op of one or two operands: its samples in the op suite and, of functions
// of floats, their results over all exponents, to 4 units in the last place.
#pragma once
#include <absl/types/span.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "accuracy.h"
#include "plan/scalar_op.h"

namespace tessera {

inline constexpr DType kFloats[] = {f32, f64, f16, bf16};
inline constexpr DType kIntegers[] = {i32, i8, i16, i64, u8, u16, u32, u64};
inline constexpr DType kNumbers[] = {f32, f64, f16, bf16, i32, i8, i16, i64, u8, u16, u32, u64};
inline constexpr DType kBits[] = {i32, bool_, i8, i16, i64, u8, u16, u32, u64};
inline constexpr DType kEvery[] = {f32, f64, f16, bf16, i32, bool_, i8,
                                   i16, i64, u8,  u16,  u32, u64};

// How the elements of an operand are made.
struct Fill {
  double lo = -4, hi = 4;
  bool whole = false;  // only integers
  bool wild = false;   // also NaN, infinities, signed zeros; the extremes of integer dtypes
  // Added to the elements of the diagonal of matrices, times their row, counted from 1. If it is
  // large, triangles are far from singular, symmetric matrices are positive definite, and
  // eigenvalues are far from each other.
  double diagonal = 0;
};
inline constexpr Fill kWild{.lo = -100, .hi = 100, .wild = true};
constexpr Fill Range(double lo, double hi) { return {lo, hi}; }
constexpr Fill Whole(double lo, double hi) { return {lo, hi, true}; }

struct UnaryRow {
  const char* name;
  plan::ScalarOp op;
  absl::Span<const DType> dtypes;
  Fill fill;
  double eps = 0;  // of the suite, against the reference: units of the dtype's epsilon
  Real (*want)(Real) = nullptr;  // of floats
  double units = 4;              // from `want`, over all exponents
  Real least = 0;                // see Units
};

inline constexpr Real kRealInf = std::numeric_limits<Real>::infinity();
inline constexpr Real kRealNan = std::numeric_limits<Real>::quiet_NaN();

inline Real LogisticReal(Real x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
inline Real LgammaReal(Real x) {
  int sign;
  return lgammal_r(x, &sign);
}
inline Real DigammaReal(Real x) {
  constexpr Real kPi = std::numbers::pi_v<Real>;
  if (x <= 0) {
    const Real part = x - std::nearbyint(x);
    return part == 0 || std::isinf(x) ? kRealNan : DigammaReal(1 - x) - kPi / std::tan(kPi * part);
  }
  Real sum = 0;
  for (; x < 40; ++x) sum -= 1 / x;
  const Real y = 1 / (x * x);  // B_2k / 2k; the first term left out is 2e-22 at 40
  const Real series =
      y * (1.0L / 12 - y * (1.0L / 120 - y * (1.0L / 252 - y * (1.0L / 240 - y / 132))));
  return sum + std::log(x) - 0.5L / x - series;
}
// The sum of (q + k)^-s over k >= 0, for q > 0 and s > 1, with (2k)! / B_2k as in DigammaReal.
inline Real ZetaSeriesReal(Real s, Real q) {
  if (std::isinf(q)) return std::pow(q, -s);
  Real sum = 0;
  for (; !(q >= 40 + 8 * s); q += 1) {
    const Real term = std::pow(q, -s);
    sum += term;
    if (!(term > sum * 1e-22L)) return sum;
  }
  Real tail = q / (s - 1) + 0.5L, factor = s / q;
  int k = 1;
  for (Real divisor : {12.0L, -720.0L, 30240.0L, -1209600.0L, 47900160.0L}) {
    tail += factor / divisor;
    factor *= (s + k) * (s + k + 1) / (q * q);
    k += 2;
  }
  return sum + std::pow(q, -s) * tail;
}
inline Real ZetaReal(Real s, Real q) {
  const Real parity = std::fabs(std::fmod(s, 2.0L));
  if (s == 1) return kRealInf;
  if (q <= 0 && q == std::floor(q)) return parity == 0 ? kRealInf : kRealNan;
  if (s < 1 || (q < 0 && parity != 0 && parity != 1)) return kRealNan;
  if (!(q < 0)) return ZetaSeriesReal(s, q);
  const Real above = q - std::floor(q), below = std::ceil(q) - q;
  const Real up = ZetaSeriesReal(s, above), down = ZetaSeriesReal(s, below);
  const Real rest = ZetaSeriesReal(s, 1 - q);
  if (parity == 0) return up + (down - rest);
  if (above == below) return rest;
  const bool overflow = std::isinf(up) && std::isinf(down);
  return overflow ? std::copysign(kRealInf, below - above) : up - down + rest;
}
// By bisection: no digit depends on a derivative.
inline Real ErfInvReal(Real x) {
  const Real a = std::fabs(x);
  if (!(a <= 1)) return kRealNan;
  if (a == 1) return std::copysign(kRealInf, x);
  if (a < 0x1p-40L) return x * 0.886226925452758013649083741670572591L;  // sqrt(pi) / 2
  Real low = 0, high = 10;
  while (true) {
    const Real y = a < 0x1p-30L ? std::sqrt(std::max(low, 0x1p-45L) * high) : (low + high) / 2;
    if (y <= low || y >= high) return std::copysign(y, x);
    ((a < 0.5 ? std::erf(y) < a : std::erfc(y) > 1 - a) ? low : high) = y;
  }
}

// e^-|x| I_n(x): the power series, and the asymptotic one for large x.
inline Real ScaledBessel(int n, Real x) {
  const Real a = std::fabs(x);
  const bool large = a >= 30;
  Real term = large || n == 0 ? 1 : a / 2, sum = 0;
  for (int k = 1; std::fabs(term) > sum * 1e-23L; ++k) {
    sum += term;
    term *=
        large ? ((2 * k - 1) * (2 * k - 1) - 4 * n * n) / (8 * k * a) : a * a / 4 / (k * (k + n));
  }
  sum *= large ? 1 / std::sqrt(2 * std::numbers::pi_v<Real> * a) : std::exp(-a);
  return std::isnan(x) ? x : n == 0 ? sum : std::copysign(sum, x);
}

// NaN wins; -0 is less than +0.
inline Real LargerReal(Real x, Real y) {
  if (std::isnan(x) || std::isnan(y)) return kRealNan;
  return x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
}

inline const std::vector<UnaryRow>& UnaryRows() {
  using enum plan::ScalarOp;
  static const std::vector<UnaryRow> rows = {
      {"neg", kNeg, kNumbers, kWild, 0, [](Real x) { return -x; }, 0},
      {"abs", kAbs, kNumbers, kWild, 0, [](Real x) { return std::fabs(x); }, 0},
      {"relu", kRelu, kNumbers, kWild, 0, [](Real x) { return x <= 0 ? 0 : x; }, 0},
      {"sign", kSign, kNumbers, kWild, 0, [](Real x) { return x > 0   ? 1
                                                              : x < 0 ? -1
                                                                      : x; }, 0},
      {"floor", kFloor, kFloats, kWild, 0, [](Real x) { return std::floor(x); }, 0},
      {"ceil", kCeil, kFloats, kWild, 0, [](Real x) { return std::ceil(x); }, 0},
      {"round_even", kRoundEven, kFloats, kWild, 0, [](Real x) { return std::nearbyint(x); }, 0},
      {"round_away", kRoundAway, kFloats, kWild, 0, [](Real x) { return std::round(x); }, 0},
      {"exp", kExp, kFloats, Range(-8, 8), 8, [](Real x) { return std::exp(x); }},
      {"exp2", kExp2, kFloats, Range(-8, 8), 8, [](Real x) { return std::exp2(x); }},
      {"expm1", kExpm1, kFloats, Range(-3, 3), 8, [](Real x) { return std::expm1(x); }},
      {"log", kLog, kFloats, Range(0.01, 9), 8, [](Real x) { return std::log(x); }},
      {"log1p", kLog1p, kFloats, Range(-0.9, 9), 8, [](Real x) { return std::log1p(x); }},
      {"sqrt", kSqrt, kFloats, Range(0, 100), 2, [](Real x) { return std::sqrt(x); }},
      {"rsqrt", kRsqrt, kFloats, Range(0.01, 100), 4, [](Real x) { return 1 / std::sqrt(x); }},
      {"cbrt", kCbrt, kFloats, Range(-27, 27), 8, [](Real x) { return std::cbrt(x); }},
      {"sin", kSin, kFloats, Range(-9, 9), 8, [](Real x) { return std::sin(x); }},
      {"cos", kCos, kFloats, Range(-9, 9), 8, [](Real x) { return std::cos(x); }},
      {"tan", kTan, kFloats, Range(-1.3, 1.3), 16, [](Real x) { return std::tan(x); }},
      {"asin", kAsin, kFloats, Range(-0.99, 0.99), 16, [](Real x) { return std::asin(x); }},
      {"acos", kAcos, kFloats, Range(-0.99, 0.99), 16, [](Real x) { return std::acos(x); }},
      {"atan", kAtan, kFloats, Range(-9, 9), 16, [](Real x) { return std::atan(x); }},
      {"sinh", kSinh, kFloats, Range(-4, 4), 16, [](Real x) { return std::sinh(x); }},
      {"cosh", kCosh, kFloats, Range(-4, 4), 16, [](Real x) { return std::cosh(x); }},
      {"tanh", kTanh, kFloats, Range(-4, 4), 16, [](Real x) { return std::tanh(x); }},
      {"asinh", kAsinh, kFloats, Range(-9, 9), 16, [](Real x) { return std::asinh(x); }},
      {"acosh", kAcosh, kFloats, Range(1.1, 9), 16, [](Real x) { return std::acosh(x); }},
      {"atanh", kAtanh, kFloats, Range(-0.95, 0.95), 16, [](Real x) { return std::atanh(x); }},
      {"erf", kErf, kFloats, Range(-3, 3), 16, [](Real x) { return std::erf(x); }},
      {"erfc", kErfc, kFloats, Range(-2, 2), 64, [](Real x) { return std::erfc(x); }},
      {"erf_inv", kErfInv, kFloats, Range(-0.95, 0.95), 64, ErfInvReal},
      {"lgamma", kLgamma, kFloats, Range(0.1, 9), 64, LgammaReal},
      // No digits are left next to its zeros.
      {"digamma", kDigamma, kFloats, Range(0.1, 9), 64, DigammaReal, 4, 1},
      {"logistic", kLogistic, kFloats, Range(-8, 8), 16, LogisticReal},
      {"bessel_i0e", kBesselI0e, kFloats, Range(-20, 20), 8,
       [](Real x) { return ScaledBessel(0, x); }},
      {"bessel_i1e", kBesselI1e, kFloats, Range(-20, 20), 8,
       [](Real x) { return ScaledBessel(1, x); }},
      {"is_finite", kIsFinite, kFloats, kWild},
      {"not", kNot, kBits, kWild},
      {"population_count", kPopulationCount, kIntegers, kWild},
      {"clz", kClz, kIntegers, kWild},
  };
  return rows;
}

struct BinaryRow {
  const char* name;
  plan::ScalarOp op;
  absl::Span<const DType> dtypes;
  Fill lhs, rhs;
  double eps = 0;                      // as of UnaryRow
  Real (*want)(Real, Real) = nullptr;  // of floats, but for those that compare and pick
  double units = 4;
};

inline const std::vector<BinaryRow>& BinaryRows() {
  using enum plan::ScalarOp;
  // One rounding is half a unit; an earlier one by x87 adds 2^-11 of a unit.
  constexpr double kOnce = 0.501;
  static const std::vector<BinaryRow> rows = {
      {"add", kAdd, kNumbers, kWild, kWild, 0, [](Real x, Real y) { return x + y; }, kOnce},
      {"sub", kSub, kNumbers, kWild, kWild, 0, [](Real x, Real y) { return x - y; }, kOnce},
      {"mul", kMul, kNumbers, kWild, kWild, 0, [](Real x, Real y) { return x * y; }, kOnce},
      {"div", kDiv, kNumbers, kWild, kWild, 0, [](Real x, Real y) { return x / y; }, kOnce},
      {"rem", kRem, kNumbers, kWild, Range(1, 9), 0, [](Real x, Real y) { return std::fmod(x, y); },
       0},
      {"pow", kPow, kNumbers, Range(0.1, 4), Whole(0, 3), 32,
       [](Real x, Real y) { return std::pow(x, y); }, 4},
      {"max", kMax, kEvery, kWild, kWild, 0, LargerReal, 0},
      {"min", kMin, kEvery, kWild, kWild, 0, [](Real x, Real y) { return -LargerReal(-x, -y); }, 0},
      {"atan2", kAtan2, kFloats, Range(-4, 4), Range(-4, 4), 16,
       [](Real x, Real y) { return std::atan2(x, y); }, 4},
      {"zeta", kZeta, kFloats, Range(1.1, 9), Range(0.2, 9), 64, ZetaReal, 4},
      {"igamma", kIgamma, kFloats, Range(0.2, 9), Range(0.1, 9), 64},
      {"igammac", kIgammac, kFloats, Range(0.2, 9), Range(0.1, 9), 64},
      {"igamma_grad_a", kIgammaGradA, kFloats, Range(0.2, 9), Range(0.1, 9), 64},
      {"random_gamma_grad", kRandomGammaGrad, kFloats, Range(0.2, 9), Range(0.1, 9), 64},
      {"expn", kExpn, kFloats, Whole(1, 6), Range(0.1, 9), 64},
      {"nextafter", kNextafter, kFloats, kWild, kWild},
      {"and", kAnd, kBits, kWild, kWild},
      {"or", kOr, kBits, kWild, kWild},
      {"xor", kXor, kBits, kWild, kWild},
      {"mulhi", kMulHigh, kIntegers, kWild, Range(-3e9, 3e9)},
      {"shift_left", kShiftLeft, kIntegers, kWild, Whole(0, 70)},
      {"shift_right_arithmetic", kShiftRightArithmetic, kIntegers, kWild, Whole(0, 70)},
      {"shift_right_logical", kShiftRightLogical, kIntegers, kWild, Whole(0, 70)},
      {"eq", kEq, kEvery, Whole(-3, 3), Whole(-3, 3)},
      {"ne", kNe, kEvery, Whole(-3, 3), Whole(-3, 3)},
      {"lt", kLt, kEvery, kWild, kWild},
      {"le", kLe, kEvery, kWild, kWild},
      {"gt", kGt, kEvery, kWild, kWild},
      {"ge", kGe, kEvery, kWild, kWild},
  };
  return rows;
}

}  // namespace tessera

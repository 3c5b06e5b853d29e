// Formulas of slopes, with scales, series and limits where the plain formula fails.
#include "ops/slopes.h"

#include <cmath>

#include "ops/matrices.h"
#include "ops/ops.h"

namespace tessera::ops {
namespace {

using plan::ScalarOp;

// The largest exponent of a real dtype's numbers.
int MostExponent(DType t) { return t == f64 ? 1023 : t == f16 ? 15 : 127; }

// Returns a positive number s, 1 in the usual case, for which the squares of x / s and y / s add up
// to a number in the range of the dtype. It is a constant for derivatives: formulas whose value
// does not depend on s have right ones.
X ScaleOf(X x, X y) {
  const int most = MostExponent(x.type()->dtype());
  const X size = Max(Abs(x), Abs(y));
  const auto is_between = [&](double low, double high) {
    return And(Less(size.Number(low), size), Less(size, size.Number(high)));
  };
  const X is_large = is_between(std::ldexp(1.0, (most - 1) / 2), HUGE_VAL);
  const X is_small = is_between(0, std::ldexp(1.0, (1 - most) / 2));
  return Constant(Where(Or(is_large, is_small), size, size.Number(1)));
}

X Limited(X x, double least, double most) {
  return Apply(ScalarOp::kClamp, {x.Number(least), x, x.Number(most)});
}

// Returns x in f32 if its dtype is narrower, for differences that cancel.
X AtLeastF32(X x) {
  if (x.type()->dtype().size() >= 4) return x;
  const ShapeAndDType wanted{x.type()->shape(), f32};
  return {x.builder(), x.builder().Emit(Elementwise(ScalarOp::kConvert), nullptr, {x.id()},
                                        {.wanted = &wanted})};
}

X IsFrom(X x, double least) { return Apply(ScalarOp::kGe, {x, x.Number(least)}); }

}  // namespace

X SlopeOfAtan(X x) {
  if (IsComplex(x)) return 1 / (1 + x * x);
  const X scale = ScaleOf(x, x.Number(1)), one = 1 / scale, u = x / scale;
  return one * one / (one * one + u * u);
}

X SlopeOfAsinh(X x) {
  if (IsComplex(x)) return Rsqrt(x * x + 1);
  const X scale = ScaleOf(x, x.Number(1)), one = 1 / scale, u = x / scale;
  return one * Rsqrt(u * u + one * one);
}

X SlopeOfAngle(X x, X y) {
  if (IsComplex(x)) return x / (x * x + y * y);
  const X scale = ScaleOf(x, y), u = x / scale, v = y / scale;
  return u / (u * u + v * v) / scale;
}

// Beyond the limit it is 0 in every dtype, and the square's derivative would overflow. A square
// that is rounded to 16 bits would leave the exponential no digits.
X Gaussian(X x) {
  constexpr double kLimit = 28;
  const X limited = Limited(AtLeastF32(x), -kLimit, kLimit);
  return InDTypeOf(Exp(-(limited * limited)), x);
}

X SlopeOfI0e(X given, X given_y) {
  const X x = AtLeastF32(given);
  const X y = x.id() == given.id() ? given_y : Apply(ScalarOp::kBesselI0e, {x});
  return InDTypeOf(Apply(ScalarOp::kBesselI1e, {x}) - Sign(x) * y, given);
}

// Near 0, y / x is a series times e^-|x|, whose derivative at 0 is the mean of those on both sides,
// like the derivative of i0e.
X SlopeOfI1e(X given, X given_y) {
  const X x = AtLeastF32(given);
  const X y = x.id() == given.id() ? given_y : Apply(ScalarOp::kBesselI1e, {x});
  constexpr double kNear = 1.0 / 32;
  const X is_near = Less(Abs(x), x.Number(kNear));
  const X near = Where(is_near, x, x.Number(0)), far = Where(is_near, x.Number(1), x);
  const X square = near * near;
  const X series = ((square / 18432 + 1.0 / 384) * square + 1.0 / 16) * square + 0.5;
  const X quotient = Where(is_near, Exp(-(near * Sign(near))) * series, y / far);
  return InDTypeOf(Apply(ScalarOp::kBesselI0e, {x}) - Sign(x) * y - quotient, given);
}

// In derivatives of 1, x, x^2, ... a coefficient 0 times an infinite power would be NaN.
X SlopeOfPower(X a, X b) {
  const X is_constant = Equal(b, b.Number(0));
  const X divisor = Where(And(is_constant, Apply(ScalarOp::kNe, {a, a.Number(0)})), a, a.Number(1));
  return Where(is_constant, b / divisor, b * Pow(a, Where(is_constant, b.Number(1), b - 1)));
}

// Up to 1 by the power, whose derivatives at 0 are right.
X GammaDensity(X a, X x) {
  const X is_near = And(IsFrom(x, 0), Less(x, x.Number(1)));
  const X near = Where(is_near, x, x.Number(1)), far = Where(is_near, x.Number(1), x);
  const X log_gamma = Apply(ScalarOp::kLgamma, {a});
  return Where(is_near, Pow(near, a - 1) * Exp(-near - log_gamma),
               Exp((a - 1) * Log(far) - far - log_gamma));
}

// At the ends by powers. One of them is 0 or 1 unless it is infinite, so the limit, which keeps the
// other factor finite, does not change the product.
X BetaDensity(X a, X b, X x) {
  const auto log_gamma = [](X v) { return Apply(ScalarOp::kLgamma, {v}); };
  const X log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  const X is_end = Or(Equal(x, x.Number(0)), Equal(x, x.Number(1)));
  const X end = Where(is_end, x, x.Number(1)), inner = Where(is_end, x.Number(0.5), x);
  const double limit = MostExponent(x.type()->dtype()) * std::log(2.0);
  const X scale = Exp(Limited(-log_beta, -limit, limit));
  const X log_other = Apply(ScalarOp::kLog1p, {-inner});
  return Where(is_end, Pow(end, a - 1) * Pow(1 - end, b - 1) * scale,
               Exp((b - 1) * log_other + (a - 1) * Log(inner) - log_beta));
}

}  // namespace tessera::ops

// Slopes of elementwise functions that keep their digits at 0, at the ends of a function's domain
// and for the largest and smallest numbers, where the textbook's formula overflows, underflows, or
// is 0 times infinity. As formulas, they have derivatives of every order.
#pragma once
#include "ops/expression.h"

namespace tessera::ops {

// 1 / (1 + x^2).
X SlopeOfAtan(X x);
// 1 / sqrt(1 + x^2).
X SlopeOfAsinh(X x);
// x / (x^2 + y^2) for real numbers.
X SlopeOfAngle(X x, X y);
// e^(-x^2) for real numbers.
X Gaussian(X x);
// The slope of i0e, whose value is y: i1e(x) - sign(x) y.
X SlopeOfI0e(X x, X y);
// The slope of i1e, whose value is y: i0e(x) - sign(x) y - y / x.
X SlopeOfI1e(X x, X y);
// b a^(b - 1), and 0 for a = b = 0.
X SlopeOfPower(X a, X b);
// x^(a - 1) e^-x / gamma(a), the density of the gamma distribution.
X GammaDensity(X a, X x);
// x^(a - 1) (1 - x)^(b - 1) / B(a, b), the density of the beta distribution.
X BetaDensity(X a, X b, X x);

}  // namespace tessera::ops

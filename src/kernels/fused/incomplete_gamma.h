// Incomplete gamma and beta functions, and exponential integrals. They are computed in double for
// f32, and in long double for f64, because they need more digits than their results have.
#pragma once

namespace tessera::kernels {

// The regularized lower and upper incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x).
template <class Real>
Real LowerGamma(Real a, Real x);
template <class Real>
Real UpperGamma(Real a, Real x);
// The derivative of P(a, x) in a.
template <class Real>
Real LowerGammaByShape(Real a, Real x);
// The derivative in a of the number x that keeps P(a, x) constant.
template <class Real>
Real GammaSampleByShape(Real a, Real x);
// The regularized incomplete beta function I_x(a, b).
template <class Real>
Real IncompleteBeta(Real a, Real b, Real x);
// The integral of e^(-x t) / t^n from 1.
template <class Real>
Real ExponentialIntegral(Real n, Real x);

// The derivative of log gamma.
template <class Real>
Real Digamma(Real x);

}  // namespace tessera::kernels

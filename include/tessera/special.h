// Special functions: [...] -> [...], elementwise. Operands promote and broadcast; ints become
// floats. ops.h has lgamma, digamma, polygamma, zeta, erf, erfc, erf_inv, bessel_i0e, bessel_i1e,
// logsumexp.
//
// Values and derivatives are those of JAX, where JAX has right ones. Only wofz takes complex
// numbers; the others refuse them.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {

// ---- gamma and beta ----

// Returns the gamma function; NaN at -1, -2, ...
Array gamma(Operand x, Loc loc = Loc::Current());
// Returns its sign, 1 or -1; NaN at -1, -2, ...
Array gammasgn(Operand x, Loc loc = Loc::Current());
// Returns the logarithm of the gamma function of x > 0, else NaN.
Array loggamma(Operand x, Loc loc = Loc::Current());
// Returns log |B(a, b)| = lgamma(a) + lgamma(b) - lgamma(a + b).
Array betaln(Operand a, Operand b, Loc loc = Loc::Current());
// Returns the beta function.
Array beta(Operand a, Operand b, Loc loc = Loc::Current());
// Returns n!, and 0 for n < 0.
Array factorial(Operand n, Loc loc = Loc::Current());
// Returns the number of ways to choose k of n, and 0 unless 0 <= k <= n.
Array comb(Operand n, Operand k, Loc loc = Loc::Current());
// Returns gamma(z + m) / gamma(z): for whole m the product z (z + 1) ... (z + m - 1).
Array poch(Operand z, Operand m, Loc loc = Loc::Current());
// Returns the logarithm of the d-dimensional gamma function.
Array multigammaln(Operand a, int64_t d, Loc loc = Loc::Current());

// Returns the Bernoulli numbers B_0 to B_n, with B_1 = -1/2: [n + 1]. Throws ShapeError for n < 0.
Array bernoulli(int64_t n, Loc loc = Loc::Current());

// ---- incomplete gamma and beta functions ----

// Returns the regularized incomplete gamma function P(a, x), and 1 less it; SciPy calls them
// gammainc and gammaincc. NaN for a < 0 or x < 0, and for a = x = 0. igamma_grad_a is the
// derivative of igamma in a, and random_gamma_grad is the derivative of a sample x of the gamma
// distribution, which keeps P(a, x) constant; neither has a derivative.
Array igamma(Operand a, Operand x, OutOptions options = {}, Loc loc = Loc::Current());
Array igammac(Operand a, Operand x, OutOptions options = {}, Loc loc = Loc::Current());
Array igamma_grad_a(Operand a, Operand x, OutOptions options = {}, Loc loc = Loc::Current());
Array random_gamma_grad(Operand a, Operand x, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the regularized incomplete beta function I_x(a, b). NaN for a < 0, b < 0, and x outside
// [0, 1]. Differentiable with respect to x only.
Array betainc(Operand a, Operand b, Operand x, OutOptions options = {}, Loc loc = Loc::Current());

// ---- logarithms and entropy ----

// Returns x log(y), and x log(1 + y): 0 for x = 0 unless y is NaN.
Array xlogy(Operand x, Operand y, Loc loc = Loc::Current());
Array xlog1py(Operand x, Operand y, Loc loc = Loc::Current());
// Returns log(p / (1 - p)), and its inverse 1 / (1 + e^-x).
Array logit(Operand p, Loc loc = Loc::Current());
Array expit(Operand x, Loc loc = Loc::Current());
// Returns -x log(x): 0 at 0, -infinity for x < 0.
Array entr(Operand x, Loc loc = Loc::Current());
// Returns p log(p / q), and the same - p + q; infinite unless p > 0 and q > 0, or p = 0 and q >= 0.
Array rel_entr(Operand p, Operand q, Loc loc = Loc::Current());
Array kl_div(Operand p, Operand q, Loc loc = Loc::Current());
// Returns (x^lambda - 1) / lambda, and the same of 1 + x; the logarithm for lambda = 0.
Array boxcox(Operand x, Operand lambda, Loc loc = Loc::Current());
Array boxcox1p(Operand x, Operand lambda, Loc loc = Loc::Current());

// ---- normal distribution and error functions ----

// Return the distribution function, its logarithm, and its inverse.
Array ndtr(Operand x, Loc loc = Loc::Current());
Array log_ndtr(Operand x, Loc loc = Loc::Current());
Array ndtri(Operand p, Loc loc = Loc::Current());
// Returns e^(x^2) erfc(x) without overflow.
Array erfcx(Operand x, Loc loc = Loc::Current());
// Returns Dawson's integral, e^(-x^2) times the integral of e^(t^2) from 0 to x.
Array dawsn(Operand x, Loc loc = Loc::Current());

// Returns the Faddeeva function e^(-z^2) erfc(-i z); complex.
Array wofz(Operand z, Loc loc = Loc::Current());
// Returns Owen's function T(h, a), the integral of e^(-h^2 (1 + t^2) / 2) / (2 pi (1 + t^2)) from 0
// to a.
Array owens_t(Operand h, Operand a, Loc loc = Loc::Current());

// ---- Bessel and integrals ----

// Returns the modified Bessel functions of the first kind of order 0 and 1.
Array i0(Operand x, Loc loc = Loc::Current());
Array i1(Operand x, Loc loc = Loc::Current());
// Returns the Bessel functions of the first kind of orders 0 to v: [v + 1, ...]. The recurrence
// over orders begins at n_iter or above; n_iter is at least v.
Array bessel_jn(Operand x, int64_t v, int64_t n_iter = 50, Loc loc = Loc::Current());
// Returns the integral of e^t / t up to x, and of e^-t / t from x.
Array expi(Operand x, Loc loc = Loc::Current());
Array exp1(Operand x, Loc loc = Loc::Current());
// Returns the integral of e^(-x t) / t^n from 1; NaN for x < 0. Differentiable with respect to x
// only.
Array expn(Operand n, Operand x, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the sine and the cosine integral.
std::pair<Array, Array> sici(Operand x, Loc loc = Loc::Current());
// Returns the dilogarithm, the integral of log(t) / (1 - t) from 1 to x.
Array spence(Operand x, Loc loc = Loc::Current());

// Returns the Fresnel integrals of sin(pi t^2 / 2) and of cos(pi t^2 / 2) from 0 to x.
std::pair<Array, Array> fresnel(Operand x, Loc loc = Loc::Current());

// ---- hypergeometric functions and spherical harmonics ----

// Returns the sum of (a)_k x^k / ((b)_k k!) over k >= 0, where (a)_k = poch(a, k). Infinite for
// b = 0; 1 for a = 0.
Array hyp1f1(Operand a, Operand b, Operand x, Loc loc = Loc::Current());
// Returns the sum of (a)_k (b)_k x^k / ((c)_k k!) over k >= 0, continued to x < -1; infinite for
// x > 1 unless the sum is finite or c - a - b <= -1. Derivatives in a, b and c are right for
// |x| < 1.
Array hyp2f1(Operand a, Operand b, Operand c, Operand x, Loc loc = Loc::Current());

struct HarmonicsOptions {
  // The largest degree, to which larger ones are set. Default: the largest element of n, which must
  // be known while tracing.
  std::optional<int64_t> n_max = {};
};
// Returns the spherical harmonics of the degrees n and the orders m, which are ints with |m| <= n,
// at the polar angles theta and the azimuths phi: complex, of the operands' broadcast shape.
Array sph_harm_y(Operand n, Operand m, Operand theta, Operand phi, HarmonicsOptions options = {},
                 Loc loc = Loc::Current());

// ---- sums of exponentials ----

// log|s| and the sign of s, which is s / |s| for complex numbers.
struct SignedLogsumexp {
  Array value, sign;
};
// Returns the logarithm and the sign of the sum of e^x along the dims, times .weights: [...]
// without the dims. A sum of 0 has the value -inf and the sign 0. (logsumexp gives NaN for negative
// sums.)
SignedLogsumexp signed_logsumexp(Operand x, Dims dims = All, LogsumexpOptions options = {},
                                 Loc loc = Loc::Current());

}  // namespace tessera

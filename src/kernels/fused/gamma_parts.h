// Parts of the incomplete gamma and beta functions.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

namespace tessera::kernels {

template <class Real>
inline constexpr Real kEpsilonOf = std::numeric_limits<Real>::epsilon();
template <class Real>
inline constexpr Real kInfinityOf = std::numeric_limits<Real>::infinity();
template <class Real>
inline constexpr Real kNotANumberOf = std::numeric_limits<Real>::quiet_NaN();

// Without the global sign that std::lgamma writes.
inline double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
inline long double LogGamma(long double x) {
  int sign;
  return lgammal_r(x, &sign);
}

// Returns u - log(1 + u), which is not negative, without cancellation. `ratio` is 1 + u, which has
// digits that u lacks near -1.
template <class Real>
Real ExcessOverLog(Real u, Real ratio) {
  if (u < Real{-0.5} || u > 1) return u - std::log(ratio);
  // log(1 + u) = 2 (r + r^3 / 3 + r^5 / 5 + ...), and u - 2 r = u r.
  const Real r = u / (2 + u), square = r * r;
  Real power = square, sum = 0;
  for (int k = 3; k < 50; k += 2) {
    const Real term = power / static_cast<Real>(k);
    sum += term;
    if (term <= kEpsilonOf<Real> * sum) break;
    power *= square;
  }
  return r * (u - 2 * sum);
}

// Returns log(gamma(a)) - log(sqrt(2 pi / a) (a / e)^a), for a > 0.
template <class Real>
Real StirlingError(Real a) {
  constexpr Real kOne = 1;
  if (a < 16) {
    const Real half_log = std::log(2 * std::numbers::pi_v<Real>) / 2;
    return LogGamma(a) - ((a - Real{0.5}) * std::log(a) - a + half_log);
  }
  // B_2k / (2k (2k - 1))
  constexpr Real kTerms[] = {kOne / 12,   -kOne / 360,          kOne / 1260, -kOne / 1680,
                             kOne / 1188, -691 * kOne / 360360, kOne / 156,  -3617 * kOne / 122400};
  const Real square = 1 / a / a;
  Real series = 0;
  for (int k = 7; k >= 0; --k) series = series * square + kTerms[k];
  return series / a;
}

}  // namespace tessera::kernels

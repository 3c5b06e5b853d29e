// The regularized incomplete beta function, by its continued fraction.
#include "kernels/fused/gamma_parts.h"
#include "kernels/fused/incomplete_gamma.h"

namespace tessera::kernels {
namespace {

// Returns x^a (1 - x)^b / B(a, b). With p = a / (a + b), the logarithm falls from x = p on by a (u
// - log(1 + u)) with u = x / p - 1, and the same for 1 - x and b. Neither is negative, so no digits
// cancel.
template <class Real>
Real BetaTerm(Real a, Real b, Real x) {
  const Real sum = a + b, part = sum - a;
  const Real low = (a - (sum - part)) + (b - part);  // the lost digits of the sum
  const Real d = std::fma(x, sum, -a) + x * low;     // (a + b) (x - p)
  const Real y = 1 - x;
  const Real deficit =
      a * ExcessOverLog(d / a, x * (sum / a)) + b * ExcessOverLog(-d / b, y * (sum / b));
  const Real errors = StirlingError(sum) - StirlingError(a) - StirlingError(b);
  return std::exp(errors - deficit) * std::sqrt(a / sum * b / (2 * std::numbers::pi_v<Real>));
}

// Returns the continued fraction of DLMF 8.17.22, which is a I_x(a, b) over BetaTerm (Lentz).
template <class Real>
Real BetaFraction(Real a, Real b, Real x) {
  constexpr Real kTiny = std::numeric_limits<Real>::min() * 16;
  constexpr int kMostSteps = 100000;
  const auto nonzero = [](Real v) { return std::fabs(v) < kTiny ? kTiny : v; };
  Real c = 1, d = 1 / nonzero(1 - x * ((a + b) / (a + 1))), y = d;
  for (int k = 1; k < kMostSteps; ++k) {
    const Real m = static_cast<Real>(k);
    const Real even = m / (a + 2 * m - 1) * ((b - m) / (a + 2 * m)) * x;
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    y *= c * d;
    const Real odd = -((a + m) / (a + 2 * m)) * ((a + b + m) / (a + 2 * m + 1)) * x;
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    y *= c * d;
    if (std::fabs(c * d - 1) <= kEpsilonOf<Real>) break;
  }
  return y;
}

}  // namespace

template <class Real>
Real IncompleteBeta(Real a, Real b, Real x) {
  const bool at_zero = a == 0 || std::isinf(b), at_one = b == 0 || std::isinf(a);
  if (std::isnan(a) || std::isnan(b) || !(x >= 0 && x <= 1) || a < 0 || b < 0 ||
      (at_zero && at_one))
    return kNotANumberOf<Real>;
  // The distribution is one point, 0 or 1.
  if (at_zero) return x == 0 ? 0 : 1;
  if (at_one) return x == 1 ? 1 : 0;
  if (x == 0 || x == 1) return x;
  const Real term = BetaTerm(a, b, x);
  if (x < (a + 1) / (a + b + 2)) return term / a * BetaFraction(a, b, x);
  return 1 - term / b * BetaFraction(b, a, 1 - x);
}

template double IncompleteBeta(double, double, double);
template long double IncompleteBeta(long double, long double, long double);

}  // namespace tessera::kernels

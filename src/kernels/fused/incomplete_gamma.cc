// Incomplete gamma functions, by series, continued fractions, and Temme's expansion.
#include "kernels/fused/incomplete_gamma.h"

#include <algorithm>

#include "kernels/fused/gamma_coefficients.h"
#include "kernels/fused/gamma_parts.h"

namespace tessera::kernels {

// By recurrence to x >= 12, where eight terms of the asymptotic series reach 1e-19. Poles give NaN.
template <class Real>
Real Digamma(Real x) {
  constexpr Real kOne = 1;
  if (x <= 0) {
    if (x == std::floor(x)) return kNotANumberOf<Real>;
    // The reflection reduces its argument first: tan(pi x) has period 1.
    constexpr Real kPi = std::numbers::pi_v<Real>;
    const Real part = x - std::round(x);
    return Digamma(1 - x) - kPi / std::tan(kPi * part);
  }
  Real sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  // B_2k / 2k
  constexpr Real kTerms[] = {kOne / 12,  -kOne / 120,         kOne / 252, -kOne / 240,
                             kOne / 132, -691 * kOne / 32760, kOne / 12,  -3617 * kOne / 8160};
  const Real y = 1 / (x * x);
  Real series = 0;
  for (int k = 7; k >= 0; --k) series = (series + kTerms[k]) * y;
  return sum + std::log(x) - 1 / (2 * x) - series;
}

namespace {

// The series and the fraction take about sqrt(a) steps for x near a. From this shape on Temme's
// expansion has all digits there.
constexpr int kLargeShape = 1000;
constexpr int kMostSteps = 100000;

// Returns a (m - log(1 + m)) for m = x / a - 1.
template <class Real>
Real Deficit(Real a, Real x) {
  return a * ExcessOverLog((x - a) / a, x / a);
}
// Returns x^a e^-x / gamma(a + 1).
template <class Real>
Real GammaTerm(Real a, Real x) {
  return std::exp(-Deficit(a, x) - StirlingError(a)) / std::sqrt(2 * std::numbers::pi_v<Real> * a);
}

template <class Real>
struct WithSlope {
  Real value, slope;  // the slope in a
};

// Returns the sum of x^n / ((a + 1) ... (a + n)) over n >= 0: P(a, x) over GammaTerm.
template <class Real>
WithSlope<Real> LowerSeries(Real a, Real x, bool slope) {
  Real r = a, term = 1, term_slope = 0;
  WithSlope<Real> sum{1, 0};
  for (int n = 0; n < kMostSteps; ++n) {
    r += 1;
    term_slope = (term_slope - term / r) * (x / r);
    term *= x / r;
    sum.value += term, sum.slope += term_slope;
    const bool is_last = slope ? std::fabs(term_slope) <= kEpsilonOf<Real> * std::fabs(sum.slope)
                               : term <= kEpsilonOf<Real> * sum.value;
    if (is_last && r > x) break;
  }
  return sum;
}

// Returns 1 / (x + 1 - a - (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))): Q(a, x) over
// x^a e^-x / gamma(a). Steps by the recurrence of numerators and denominators.
template <class Real>
WithSlope<Real> UpperFraction(Real a, Real x, bool slope) {
  struct Part {
    Real now, last, slope_now, slope_last;
    void Step(Real b, Real c, Real n, Real scale) {  // now b - last c, where b and c fall by 1 and
      const Real next = now * b - last * c;          // n as a grows by 1
      const Real slope_next = slope_now * b - now - slope_last * c + last * n;
      last = now * scale, slope_last = slope_now * scale;
      now = next * scale, slope_now = slope_next * scale;
    }
  };
  Real b = x + 1 - a;
  Part top{1, 0, 0, 0}, bottom{b, 1, -1, 0};
  WithSlope<Real> y{1 / b, 1 / b / b};
  for (int k = 1; k < kMostSteps; ++k) {
    const Real n = static_cast<Real>(k);
    b += 2;
    const Real scale = 1 / std::fmax(Real{1}, b);  // keeps the numbers in range
    top.Step(b, n * (n - a), n, scale);
    bottom.Step(b, n * (n - a), n, scale);
    if (bottom.now == 0) continue;
    const WithSlope<Real> was = y;
    y.value = top.now / bottom.now;
    y.slope = (top.slope_now - y.value * bottom.slope_now) / bottom.now;
    if (std::fabs(y.value - was.value) <= kEpsilonOf<Real> * y.value &&
        (!slope || std::fabs(y.slope - was.slope) <= kEpsilonOf<Real> * std::fabs(y.slope)))
      break;
    const Real size = std::fmax(std::fabs(bottom.now), std::fabs(bottom.last));
    if (size < Real{1e-30L} || size > Real{1e30L})
      for (Part* part : {&top, &bottom}) {
        part->now /= size, part->last /= size;
        part->slope_now /= size, part->slope_last /= size;
      }
  }
  return y;
}

// Returns log(gamma(1 + a)) with its digits near 0.
template <class Real>
Real LogGammaOfNext(Real a) {
  if (a > Real{0.5}) return LogGamma(1 + a);
  Real sum = 0, power = a;
  for (const long double c : kZetasLessOne) {
    power *= a;
    sum += static_cast<Real>(c) * power;
  }
  return sum + a * (1 - std::numbers::egamma_v<Real>)-std::log1p(a);
}

// Returns Q(a, x) for x of about 1 or less, where P may be almost 1: 1 - x^a / gamma(a + 1), less
// the terms of the power series of P from the second on.
template <class Real>
Real UpperSeries(Real a, Real x) {
  const Real exponent = a * std::log(x) - LogGammaOfNext(a);
  Real term = 1, sum = 0;
  for (int n = 1; n < 200; ++n) {
    term *= -x / static_cast<Real>(n);
    sum += term / (a + static_cast<Real>(n));
    if (std::fabs(term) <= kEpsilonOf<Real> * std::fabs(sum)) break;
  }
  return -std::expm1(exponent) - std::exp(exponent) * a * sum;
}

// ---- Temme's expansion --------------------------------------------------------------------------

template <class Real>
bool IsNearLargeShape(Real a, Real x) {
  return a >= kLargeShape && std::fabs(x - a) < Real{0.3} * a;
}

// eta with eta^2 / 2 = m - log(1 + m), the sum of a^-k c_k(eta), and its derivatives.
template <class Real>
struct Temme {
  Temme(Real a, Real x) : m((x - a) / a) {
    eta = std::copysign(std::sqrt(2 * ExcessOverLog(m, x / a)), m);
    Real scale = 1;
    for (int k = 0; k < kTemmeRows; ++k) {
      Real value = 0, slope = 0;
      for (int n = kTemmeTerms - 1; n >= 0; --n) {
        slope = slope * eta + value;
        value = value * eta + static_cast<Real>(kTemme[k][n]);
      }
      sum += scale * value;
      by_eta += scale * slope;
      by_a -= static_cast<Real>(k) * scale / a * value;
      scale /= a;
    }
  }
  Real m, eta, sum = 0, by_eta = 0, by_a = 0;
};

// The tail of x's side: Q(a, x) for x >= a, and P(a, x) for x < a.
template <class Real>
Real TemmeTail(Real a, Real x) {
  const Temme<Real> t(a, x);
  const Real deficit = Deficit(a, x);
  const Real rest = std::exp(-deficit) / std::sqrt(2 * std::numbers::pi_v<Real> * a) * t.sum;
  return std::erfc(std::sqrt(deficit)) / 2 + (x < a ? -rest : rest);
}

// The derivative of Q(a, x) in a, over the density of the gamma distribution at x.
template <class Real>
Real TemmeSlope(Real a, Real x) {
  const Temme<Real> t(a, x);
  const Real turn = t.m == 0 ? 1 : t.m / t.eta;
  const Real bracket =
      turn - t.eta / 2 + (std::log1p(t.m) - 1 / (2 * a)) * t.sum + t.by_a - turn / a * t.by_eta;
  return bracket * std::exp(StirlingError(a)) * (x / a);
}

template <class Real>
bool IsOutside(Real a, Real x) {
  return std::isnan(a) || std::isnan(x) || a < 0 || x < 0;
}

// P(a, x) and Q(a, x), for 0 < a and x that are finite. One is computed, and the other is 1 less
// that one; the one that is less than a half is always computed.
template <class Real>
struct Tails {
  Tails(Real a, Real x) {
    if (IsNearLargeShape(a, x)) {
      const Real tail = TemmeTail(a, x);
      lower = x < a ? tail : 1 - tail, upper = x < a ? 1 - tail : tail;
    } else if (x > Real{1.1} && x > a) {
      upper = GammaTerm(a, x) * a * UpperFraction(a, x, false).value;
      lower = 1 - upper;
    } else {
      lower = GammaTerm(a, x) * LowerSeries(a, x, false).value;
      upper = x <= Real{1.1} && lower > Real{0.5} ? UpperSeries(a, x) : 1 - lower;
    }
  }
  Real lower, upper;
};

}  // namespace

// Where JAX gives NaN because logarithms overflow, these functions have their limits.
template <class Real>
Real LowerGamma(Real a, Real x) {
  if (IsOutside(a, x) || (a == 0 && x == 0)) return kNotANumberOf<Real>;
  if (x == 0) return 0;
  if (std::isinf(x) || a == 0) return 1;
  return std::isinf(a) ? 0 : Tails<Real>(a, x).lower;
}
template <class Real>
Real UpperGamma(Real a, Real x) {
  if (IsOutside(a, x) || (a == 0 && x == 0)) return kNotANumberOf<Real>;
  if (x == 0) return 1;
  if (std::isinf(x) || a == 0) return 0;
  return std::isinf(a) ? 1 : Tails<Real>(a, x).upper;
}

template <class Real>
Real GammaSampleByShape(Real a, Real x) {
  if (IsOutside(a, x) || a == 0) return kNotANumberOf<Real>;
  if (x == 0) return 0;
  if (std::isinf(x)) return std::isinf(a) ? kNotANumberOf<Real> : x;
  if (std::isinf(a)) return 0;
  if (IsNearLargeShape(a, x)) return TemmeSlope(a, x);
  if (x > 1 && x > a) {
    const WithSlope<Real> y = UpperFraction(a, x, true);
    return x * (y.slope + y.value * (std::log(x) - Digamma(a)));
  }
  const WithSlope<Real> y = LowerSeries(a, x, true);
  return -(y.slope + y.value * (std::log(x) - Digamma(a + 1))) * (x / a);
}

// The slope of a sample, times the density, with its sign.
template <class Real>
Real LowerGammaByShape(Real a, Real x) {
  if (IsOutside(a, x) || a == 0) return kNotANumberOf<Real>;
  if (x == 0 || std::isinf(x) || std::isinf(a)) return 0;
  const Real density = GammaTerm(a, x) * (a / x);
  return density == 0 ? 0 : -density * GammaSampleByShape(a, x);
}

// ---- exponential integrals ----------------------------------------------------------------------

namespace {

// By 1 / (x + n - n / (x + n + 2 - 2 (n + 1) / (x + n + 4 - ...))) (Lentz), for large x or n.
template <class Real>
Real ExponentialFraction(Real n, Real x) {
  Real b = x + n, c = kInfinityOf<Real>, d = 1 / b, y = d;
  for (int k = 1; k < kMostSteps; ++k) {
    const Real i = static_cast<Real>(k), top = -i * (n - 1 + i);
    b += 2;
    d = 1 / (top * d + b);
    c = b + top / c;
    y *= c * d;
    if (std::fabs(c * d - 1) <= kEpsilonOf<Real>) break;
  }
  return y * std::exp(-x);
}

// The power series, whose term n - 1 has a logarithm if n is whole. Else it lacks a power of x.
template <class Real>
Real ExponentialSeries(Real n, Real x) {
  Real term = 1;
  Real sum = n == std::floor(n) ? 0 : std::tgamma(1 - n) * std::pow(x, n - 1);
  for (int k = 0; k < 200; ++k) {
    const Real i = static_cast<Real>(k);
    if (k > 0) term *= -x / i;
    const Real part = i == n - 1 ? term * (Digamma(n) - std::log(x)) : -term / (i - n + 1);
    sum += part;
    if (i >= n && std::fabs(part) <= kEpsilonOf<Real> * std::fabs(sum)) break;
  }
  return sum;
}

}  // namespace

template <class Real>
Real ExponentialIntegral(Real n, Real x) {
  if (std::isnan(n) || std::isnan(x) || x < 0) return kNotANumberOf<Real>;
  if (x == 0) return n > 1 ? 1 / (n - 1) : kInfinityOf<Real>;
  if (std::isinf(x)) return 0;
  if (std::isinf(n)) return n > 0 ? 0 : kInfinityOf<Real>;
  if (n == 0) return std::exp(-x) / x;
  // x^(n - 1) times the incomplete gamma function of 1 - n.
  if (n < 0) return UpperGamma(1 - n, x) * std::exp(LogGamma(1 - n) + (n - 1) * std::log(x));
  if (x > 1 || n > 40) return ExponentialFraction(n, x);
  return ExponentialSeries(n, x);
}

template double LowerGamma(double, double);
template double UpperGamma(double, double);
template double LowerGammaByShape(double, double);
template double GammaSampleByShape(double, double);
template double ExponentialIntegral(double, double);
template double Digamma(double);
template long double LowerGamma(long double, long double);
template long double UpperGamma(long double, long double);
template long double LowerGammaByShape(long double, long double);
template long double GammaSampleByShape(long double, long double);
template long double ExponentialIntegral(long double, long double);
template long double Digamma(long double);

}  // namespace tessera::kernels

// Obvious computations of special functions.
#include "ops/special_references.h"

#include <cmath>
#include <numbers>

#include "ops/reference_values.h"

namespace tessera::ops::reference {
namespace {

// Returns the sum of (q + k)^-s over k >= 0, for q > 0 and s > 1, by Euler-Maclaurin summation
// (Abramowitz and Stegun, "Handbook of Mathematical Functions", 23.1.30). Adds terms one by one
// until eight correction terms suffice for 1e-18, or until terms no longer count.
long double ZetaSeries(long double s, long double q) {
  if (std::isinf(q)) return std::pow(q, -s);
  long double sum = 0;
  for (; !(q >= 30 + 4 * s); q += 1) {
    const long double term = std::pow(q, -s);
    sum += term;
    if (!(term > sum * 1e-22L)) return sum;
  }
  constexpr long double kBernoulli[] = {1.0L / 6,  -1.0L / 30,     1.0L / 42, -1.0L / 30,
                                        5.0L / 66, -691.0L / 2730, 7.0L / 6,  -3617.0L / 510};
  sum += std::pow(q, 1 - s) / (s - 1) + std::pow(q, -s) / 2;
  long double derivative = std::pow(q, -s) * s / q, factorial = 2;
  for (int k = 1; k <= 8; ++k) {
    sum += kBernoulli[k - 1] * derivative / factorial;
    derivative *= (s + (2 * k - 1)) * (s + 2 * k) / (q * q);
    factorial *= (2 * k + 1) * (2 * k + 2);
  }
  return sum;
}

}  // namespace

// For negative bases a term is (-1)^s times the term of the positive base, if s is whole.
double Zeta(double s, double q) {
  const bool even = std::fmod(s, 2) == 0, odd = std::fabs(std::fmod(s, 2)) == 1;
  if (s == 1) return kInf;
  if (q <= 0 && q == std::floor(q)) return even ? kInf : kNaN;
  if (s < 1 || (q < 0 && !even && !odd)) return kNaN;
  if (!(q < 0)) return static_cast<double>(ZetaSeries(s, q));
  const long double x = q, above = x - std::floor(x), below = std::ceil(x) - x;
  const long double up = ZetaSeries(s, above), down = ZetaSeries(s, below);
  const long double rest = ZetaSeries(s, 1 - x);
  if (even) return static_cast<double>(up + (down - rest));
  const bool overflow = std::isinf(up) && std::isinf(down);
  if (overflow && above != below) return below < above ? -kInf : kInf;
  return static_cast<double>((above == below ? 0 : up - down) + rest);
}

namespace {

long double LogGammaOf(long double x) {
  int sign;
  return lgammal_r(x, &sign);
}

// log(x) - digamma(a), by recurrence to where the asymptotic series is short.
long double LogLessDigamma(long double a, long double x) {
  long double sum = 0;
  for (; a < 100; a += 1) sum += 1 / a;
  const long double y = 1 / (a * a);
  const long double series = y * (1.0L / 12 - y * (1.0L / 120 - y * (1.0L / 252 - y / 240)));
  return sum + std::log(x / a) + 0.5L / a + series;
}

// Returns x^a e^-x / gamma(a + 1).
long double GammaTerm(long double a, long double x) {
  return std::exp(a * std::log(x) - x - LogGammaOf(a + 1));
}

// P(a, x) is the sum of GammaTerm(a + n, x) over n >= 0.
long double LowerSum(long double a, long double x) {
  long double term = GammaTerm(a, x), sum = 0;
  for (int n = 1; term > sum * 1e-22L || static_cast<long double>(n) < x; ++n) {
    sum += term;
    term *= x / (a + static_cast<long double>(n));
  }
  return sum;
}

// Q(a, x) by the continued fraction of DLMF 8.9.2, from its 2000th term upwards.
long double UpperFraction(long double a, long double x) {
  long double rest = 0;
  for (int k = 2000; k > 0; --k) {
    const auto n = static_cast<long double>(k);
    rest = n * (n - a) / (x + 2 * n + 1 - a - rest);
  }
  return GammaTerm(a, x) * a / (x + 1 - a - rest);
}

bool IsGammaDomain(double a, double x) { return a >= 0 && x >= 0 && (a > 0 || x > 0); }
bool IsFractionBest(double a, double x) { return x > 1 && x > a; }

}  // namespace

double LowerGamma(double a, double x) {
  if (!IsGammaDomain(a, x)) return kNaN;
  if (a == 0 || x == kInf) return 1;
  if (x == 0 || a == kInf) return 0;
  return static_cast<double>(IsFractionBest(a, x) ? 1 - UpperFraction(a, x) : LowerSum(a, x));
}
double UpperGamma(double a, double x) {
  if (!IsGammaDomain(a, x)) return kNaN;
  if (a == 0 || x == kInf) return 0;
  if (x == 0 || a == kInf) return 1;
  return static_cast<double>(IsFractionBest(a, x) ? UpperFraction(a, x) : 1 - LowerSum(a, x));
}

// The derivative of each term of LowerSum.
double LowerGammaByShape(double a, double x) {
  if (!IsGammaDomain(a, x) || a == 0) return kNaN;
  if (x == 0 || x == kInf || a == kInf) return 0;
  long double term = GammaTerm(a, x), sum = 0;
  for (int k = 1; k < 1000; ++k) {
    const auto n = static_cast<long double>(k);
    sum += term * LogLessDigamma(a + n, x);
    term *= x / (a + n);
  }
  return static_cast<double>(sum);
}
double GammaSampleByShape(double a, double x) {
  if (!IsGammaDomain(a, x) || a == 0) return kNaN;
  if (x == 0) return 0;
  return static_cast<double>(-LowerGammaByShape(a, x) / (GammaTerm(a, x) * a / x));
}

// The sum of x^(a + n) (1 - x)^b / ((a + n) B(a + n, b)) over n >= 0, whose terms are positive.
double IncompleteBeta(double a, double b, double x) {
  const bool at_zero = a == 0 || b == kInf, at_one = b == 0 || a == kInf;
  if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (at_zero && at_one)) return kNaN;
  if (at_zero) return x == 0 ? 0 : 1;
  if (at_one) return x == 1 ? 1 : 0;
  if (x == 0 || x == 1) return x;
  const auto sum_of = [](long double p, long double q, long double u, long double v) {
    long double term = std::exp(p * std::log(u) + q * std::log(v) + LogGammaOf(p + q) -
                                LogGammaOf(p + 1) - LogGammaOf(q));
    long double sum = 0;
    for (int k = 1; k < 100000 && !(term < sum * 1e-22L && k > 50); ++k) {
      const auto n = static_cast<long double>(k);
      sum += term;
      term *= u * (p + q + n - 1) / (p + n);
    }
    return sum;
  };
  const long double wide = x;
  return static_cast<double>(x <= a / (a + b) || x < 0.5 ? sum_of(a, b, wide, 1 - wide)
                                                         : 1 - sum_of(b, a, 1 - wide, wide));
}

// The integral of e^(-x / u) u^(n - 2) over [0, 1] by the tanh-sinh rule.
double ExponentialIntegral(double n, double x) {
  if (std::isnan(n) || !(x >= 0)) return kNaN;
  if (x == 0) return n > 1 ? 1 / (n - 1) : kInf;
  if (x == kInf || n == kInf) return 0;
  if (n == -kInf) return kInf;
  constexpr long double kStep = 1.0L / 128;
  long double sum = 0;
  for (int k = -700; k <= 700; ++k) {
    const long double t = kStep * static_cast<long double>(k);
    const long double bend = std::numbers::pi_v<long double> * std::sinh(t);
    const long double u = 1 / (1 + std::exp(-bend)), v = 1 / (1 + std::exp(bend));
    const long double weight = std::numbers::pi_v<long double> * std::cosh(t) * u * v;
    sum += weight * std::exp(-static_cast<long double>(x) / u + (n - 2) * std::log(u));
  }
  return static_cast<double>(sum * kStep);
}

}  // namespace tessera::ops::reference

// Functions that the C++ library lacks. Both are computed in long double by the most direct way.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/reference_values.h"

namespace tessera::ops::reference {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Whether erf(y) >= a. Near 1 the complements are compared: 1 - a is exact there, and erf(y) has no
// digits left.
bool ErfReaches(double y, double a) {
  const long double wide = y;
  return a < 0.5 ? std::erf(wide) >= a : std::erfc(wide) <= 1 - a;
}

}  // namespace

// The least double y with erf(y) >= |x|, by bisection: the bits of positive doubles are in the
// doubles' order.
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

// Abramowitz and Stegun, "Handbook of Mathematical Functions": the reflection 6.3.7, the recurrence
// 6.3.5 up to where the asymptotic series 6.3.18 is short. NaN at 0 and the negative integers.
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
  // B(2k) / 2k. The first term left out is below 1e-21 at y >= 16.
  constexpr long double kTerms[] = {1.0L / 12,  -1.0L / 120,     1.0L / 252, -1.0L / 240,
                                    1.0L / 132, -691.0L / 32760, 1.0L / 12,  -3617.0L / 8160};
  long double series = 0, power = 1;
  for (long double term : kTerms) {
    power /= y * y;
    series += term * power;
  }
  return static_cast<double>(reflected + sum + std::log(y) - 1 / (2 * y) - series);
}

}  // namespace tessera::ops::reference

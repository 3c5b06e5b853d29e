// Bessel functions and integrals of exponentials, sines and logarithms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "api/special/coefficients.h"
#include "api/special/real.h"
#include "base/at.h"
#include "tessera/control.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

Located Rational(std::span<const double> top, std::span<const double> bottom, const Located& x) {
  return Polynomial(top, x) / Polynomial(bottom, x);
}

// ---- modified Bessel functions ----

// Returns I_0(x) or I_1(x). Half of the exponential twice, so that it does not overflow before the
// result does; beyond the limit the result is infinite.
Located ModifiedBesselValue(const Located& x, int order) {
  constexpr double kLimit = 800;
  const Located is_beyond = Abs(x) > kLimit, near = If(is_beyond, Sign(x) * kLimit, x);
  const Located half = Exp(0.5 * Abs(near));
  const Array scaled = order == 0 ? bessel_i0e(near, x.loc()) : bessel_i1e(near, x.loc());
  return half * x.With(scaled) * half;
}
// I_0' = I_1 and I_1' = I_0 - I_1 / x, whose quotient has a series.
Located ModifiedBessel(const Located& x, int order, int derivatives = 0) {
  constexpr int kOrders = 2;
  if (derivatives == kOrders) return ModifiedBesselValue(x, order);
  const auto value = [order](const Located& u) { return ModifiedBesselValue(u, order); };
  return WithSlope(x, value, [=](const Located& u, const Located& y) {
    const Located other = ModifiedBessel(u, 1 - order, derivatives + 1);
    if (order == 0) return other;
    std::array<double, 12> series{};  // of x^2 / 4
    double term = 0.5;
    for (size_t k = 0; k < series.size(); ++k) {
      series[series.size() - 1 - k] = term;
      term /= static_cast<double>((k + 1) * (k + 2));
    }
    const Located is_near = Abs(u) < 2;
    const Located near = Polynomial(series, 0.25 * Square(If(is_near, u, 0.0)));
    // Where I_1 is infinite, so is its slope.
    const Located far = If(Abs(y) == kEndless, 0.0, y) / If(is_near, 1.0, u);
    return other - If(is_near, near, far);
  });
}

// ---- Bessel functions ----

// Returns J_0 to J_v of z by the ratios of neighbours from order `top` down (Miller), which are
// right up to z = top / 2. Their sum J_0 + 2 J_2 + 2 J_4 + ... is 1.
std::vector<Located> BesselDown(int64_t v, int64_t top, const Located& z) {
  std::vector<Located> ratios(static_cast<size_t>(top) + 1, z * 0.0);  // of J_k and J_(k - 1)
  for (int64_t k = top; k > 0; --k) {
    const Located above = k == top ? z * 0.0 : ratios[base::Size(k) + 1];
    ratios[base::Size(k)] = z / (2.0 * static_cast<double>(k) - z * above);
  }
  Located sum = z * 0.0;  // of J_k / J_0, from high orders down
  for (int64_t k = top / 2; k > 0; --k)
    sum = (sum + 1.0) * ratios[base::Size(2 * k)] * ratios[base::Size(2 * k - 1)];
  std::vector<Located> orders{1.0 / (1.0 + 2.0 * sum)};
  for (int64_t k = 1; k <= v; ++k) orders.push_back(orders.back() * ratios[base::Size(k)]);
  return orders;
}

// Returns J_0 or J_1 of z >= 30 by Hankel's expansion (Abramowitz and Stegun, 9.2.5).
Located FarBessel(const Located& z, int order, const Located& sine, const Located& cosine) {
  std::array<double, 11> even{}, odd{};  // of 1 / z^2
  double term = 1;
  for (size_t k = 0; k < 2 * even.size(); ++k) {
    const size_t at = even.size() - 1 - k / 2;
    (k % 2 == 0 ? even : odd)[at] = k / 2 % 2 == 0 ? term : -term;
    const auto n = static_cast<double>(2 * k + 1);
    term *= (4.0 * order - n * n) / (8.0 * static_cast<double>(k + 1));
  }
  const Located u = 1.0 / z, t = Square(u);
  const Located p = Polynomial(even, t), q = u * Polynomial(odd, t);
  // The sine and the cosine of z - pi / 4, and of z - 3 pi / 4, times the root of 2.
  const Located s = order == 0 ? sine - cosine : -(sine + cosine);
  const Located c = order == 0 ? sine + cosine : sine - cosine;
  return Sqrt(u) * std::numbers::inv_sqrtpi * (p * c - q * s);
}

// Returns J_0 to J_v of large z by recurrence upwards, which is stable for orders below z.
std::vector<Located> BesselUp(int64_t v, const Located& z) {
  const Located size = Abs(z), sine = Sin(size), cosine = Cos(size);
  std::vector<Located> orders{FarBessel(size, 0, sine, cosine)};
  if (v > 0) orders.push_back(Sign(z) * FarBessel(size, 1, sine, cosine));
  for (int64_t k = 1; k < v; ++k)
    orders.push_back(2.0 * static_cast<double>(k) / z * orders[base::Size(k)] -
                     orders[base::Size(k) - 1]);
  return orders;
}

std::vector<Located> BesselUpTo(int64_t v, int64_t steps, const Located& z) {
  const int64_t top = std::max({steps, 2 * v, int64_t{60}});
  const Located is_far = Abs(z) > static_cast<double>(top) / 2, is_end = Abs(z) == kEndless;
  const auto at_end = static_cast<double>(top);
  const std::vector<Located> near = BesselDown(v, top, If(is_far, 0.0, z)),
                             far = BesselUp(v, If(is_far & !is_end, z, at_end));
  std::vector<Located> orders;
  for (size_t k = 0; k < near.size(); ++k)
    orders.push_back(If(is_end, 0.0, If(is_far, far[k], near[k])));
  return orders;
}

// ---- exponential integrals ----

// The power series for x <= 1; for larger x the continued fraction e^-x / (x + 1 - 1 / (x + 3 - 4 /
// (x + 5 - ...))), from its 90th term upwards.
Located Exp1(const Located& x) {
  const Loc loc = x.loc();
  const Located low = If((x > 0) & (x <= 1), x, 1.0), high = If(x > 1, x, 2.0);
  Located term = -low, series = -term;
  for (int k = 2; k <= 20; ++k) {
    term = term * low * (-1.0 / k);
    series = series - term / k;
  }
  const Located small = series - Log(low) - std::numbers::egamma;
  Located fraction = high + 181.0;
  for (int k = 89; k >= 0; --k) {
    const double square = static_cast<double>(k + 1) * (k + 1);
    fraction = high + (2.0 * k + 1) - square / fraction;
  }
  const Located large = Exp(-high) / fraction;
  const Located y = If(x > 1, large, small);
  const Located at_end = x.With(full_like(x, Operand(kEndless, loc), {}, loc));
  return If(x == 0, at_end, If((x < 0) | IsNan(x), kNoNumber, If(x == kEndless, 0.0, y)));
}

// Returns e^x / x without the overflow of e^x.
Located ExpOver(const Located& x) {
  const Located half = Exp(0.5 * x);
  return half / x * half;
}
// Returns e^x / x * (1 + f(1 / x) / x) for rational f.
Located ExpiPart(std::span<const double> top, std::span<const double> bottom, const Located& x) {
  const Located w = 1.0 / x;
  return ExpOver(x) * (w * Rational(top, bottom, w) + 1);
}
Located Expi(const Located& x) {
  const Located a = If(x > 0, x, 1.0);
  const Located near = a * Rational(kExpi1Top, kExpi1Bottom, a) + std::numbers::egamma + Log(a);
  Located y = ExpiPart(kExpi7Top, kExpi7Bottom, a);
  y = If(a <= 64, ExpiPart(kExpi6Top, kExpi6Bottom, a), y);
  y = If(a <= 32, ExpiPart(kExpi5Top, kExpi5Bottom, a), y);
  y = If(a <= 16, ExpiPart(kExpi4Top, kExpi4Bottom, a), y);
  y = If(a <= 8, ExpiPart(kExpi3Top, kExpi3Bottom, a), y);
  y = If(a <= 4, ExpiPart(kExpi2Top, kExpi2Bottom, a), y);
  y = If(a <= 2, near, y);
  y = If(x > 0, y, -Exp1(-x));
  return If(x == 0, -kEndless, If(x == kEndless, x, y));
}

// ---- sine and cosine integrals of x >= 0 ----

struct Waves {
  Located sine, cosine;
};
Waves SiciOf(const Located& x) {
  constexpr double kQuarter = std::numbers::pi / 2;
  const Located is_near = x <= 4, is_far = x > 1e9;
  const Located a = If(is_near, x, 1.0), t = Square(a);
  const Located b = If(is_near | is_far, 5.0, x), z = 1 / Square(b);
  const Located s = Sin(b), c = Cos(b), is_below = b < 8;
  const Located f =
      If(is_below, Rational(kSiciF4Top, kSiciF4Bottom, z), Rational(kSiciF8Top, kSiciF8Bottom, z)) /
      b;
  const Located g = z * If(is_below, Rational(kSiciG4Top, kSiciG4Bottom, z),
                           Rational(kSiciG8Top, kSiciG8Bottom, z));
  const Located near_sine = a * Rational(kSiciSTop, kSiciSBottom, t);
  const Located near_cosine =
      std::numbers::egamma + Log(If(a == 0, 1.0, a)) + t * Rational(kSiciCTop, kSiciCBottom, t);
  const Located end = If(x == kEndless, 1.0, x);
  const Located far_sine = If(x == kEndless, kQuarter, kQuarter - Cos(end) / end);
  const Located far_cosine = If(x == kEndless, 0.0, Sin(end) / end);
  return {If(is_near, near_sine, If(is_far, far_sine, kQuarter - f * c - g * s)),
          If(x == 0, -kEndless, If(is_near, near_cosine, If(is_far, far_cosine, f * s - g * c)))};
}
Located SineIntegral(const Located& x) { return If(IsNan(x), x, Sign(x) * SiciOf(Abs(x)).sine); }
Located CosineIntegral(const Located& x) {
  return If(IsNan(x), x, If(x == -kEndless, kNoNumber, SiciOf(Abs(x)).cosine));
}

// ---- Fresnel integrals ----

// Returns the sine and the cosine of pi x^2 / 2 for x >= 0. With x = 2 n + s, x^2 / 2 is
// s (x - s / 2) plus an even number.
Waves HalfTurns(const Located& x) {
  constexpr double kPi = std::numbers::pi;
  const auto rest = [](const Located& v) {
    return v.With(rem(v, Operand(2, v.loc()), {}, v.loc()));
  };
  const Located s = rest(x), r = rest(s * (x - s / 2.0));
  const Located sine =
      If(r < 0.5, Sin(kPi * r), If(r > 1.5, Sin(kPi * (r - 2.0)), -Sin(kPi * (r - 1.0))));
  const Located cosine = If(r < 1.0, -Sin(kPi * (r - 0.5)), Sin(kPi * (r - 1.5)));
  return {sine, cosine};
}

Waves FresnelOf(const Located& x) {
  const Located is_near = Square(x)<2.5625, is_far = x> 1e10;
  const Located a = If(is_near, x, 1.0), t = Square(Square(a));
  const Located near_sine = a * Square(a) * Rational(kFresnelSineTop, kFresnelSineBottom, t);
  const Located near_cosine = a * Rational(kFresnelCosineTop, kFresnelCosineBottom, t);
  const Located b = If(is_near | is_far, 2.0, x), p = std::numbers::pi * Square(b),
                z = 1 / Square(p);
  const Located f = 1.0 - z * Rational(kFresnelFTop, kFresnelFBottom, z);
  const Located g = Rational(kFresnelGTop, kFresnelGBottom, z) / p;
  const auto [s, c] = HalfTurns(b);
  const Located scale = std::numbers::pi * b;
  const Located sine = 0.5 - (f * c + g * s) / scale, cosine = 0.5 + (f * s - g * c) / scale;
  // Far away the waves are less than the last digit, or almost.
  const auto [far_s, far_c] = HalfTurns(If(is_far & (x < 1e300), x, 0.0));
  const Located far_scale = std::numbers::pi * If(is_far, x, 1.0);
  return {If(is_near, near_sine, If(is_far, 0.5 - far_c / far_scale, sine)),
          If(is_near, near_cosine, If(is_far, 0.5 + far_s / far_scale, cosine))};
}
// Returns the odd continuation of one of the two, with its derivative.
Located FresnelPart(const Located& x, Located Waves::*part) {
  return WithSlope(
      x, [part](const Located& u) { return If(IsNan(u), u, Sign(u) * (FresnelOf(Abs(u)).*part)); },
      [part](const Located& u, const Located&) { return HalfTurns(Abs(u)).*part; });
}

// ---- dilogarithm ----

// Large x are mapped to 1 / x, then x is mapped near 0.
Located Spence(const Located& x) {
  const Located is_plain = (x > 0) & (x != 1);
  const Located a = If(is_plain, x, 0.75);
  const Located is_over = a > 2, v = If(is_over, 1 / a, a);
  const Located is_high = v > 1.5, is_low = v < 0.5;
  const Located w = If(is_high, 1 / v - 1, If(is_low, -v, v - 1));
  const Located y = -w * Rational(kSpenceTop, kSpenceBottom, w);
  constexpr double kTop = std::numbers::pi * std::numbers::pi / 6;
  const Located below = If(is_low, v, 0.25);
  Located made = If(is_low, kTop - Log(below) * Log(1 - below) - y, y);
  made = If(is_over | is_high, -0.5 * Square(Log(v)) - made, made);
  return If(IsNan(x) | (x < 0), kNoNumber, If(x == 0, kTop, If(x == 1, 0.0, made)));
}

}  // namespace

Array i0(Operand x, Loc loc) {
  return RealFormula({"i0", loc}, x, [](const Located& a) { return ModifiedBessel(a, 0); });
}
Array i1(Operand x, Loc loc) {
  return RealFormula({"i1", loc}, x, [](const Located& a) { return ModifiedBessel(a, 1); });
}
Array bessel_jn(Operand x, int64_t v, int64_t n_iter, Loc loc) {
  const Call call{"bessel_jn", loc};
  if (v < 0 || n_iter < v)
    FailShape(call, 17, fmt::format("orders 0 to {} need as many steps, not {}", v, n_iter));
  return AsOne(call, {x, v, n_iter}, [&](const Operand& operand) -> Array {
    const Array given = ToFloat(operand, call);
    CheckReal(given, call);
    const Located z(Convert(given, f64, call), loc);
    std::vector<Array> orders;
    for (const Located& one : BesselUpTo(v, n_iter, z)) orders.push_back(one);
    return Convert(stack(orders, 0, loc), TypeOf(given)->dtype(), call);
  });
}

Array expi(Operand x, Loc loc) {
  return RealFormula({"expi", loc}, x, [](const Located& a) {
    return WithSlope(a, Expi, [](const Located& u, const Located&) { return ExpOver(u); });
  });
}
Array exp1(Operand x, Loc loc) {
  return RealFormula({"exp1", loc}, x, [](const Located& a) {
    return WithSlope(a, Exp1, [](const Located& u, const Located&) { return ExpOver(-u); });
  });
}
std::pair<Array, Array> sici(Operand x, Loc loc) {
  const Array sine = WideFormula({"sici", loc}, {x}, [](const std::vector<Located>& xs) {
    return WithSlope(xs[0], SineIntegral,
                     [](const Located& u, const Located&) { return SineQuotient(u); });
  });
  const Array cosine = WideFormula({"sici", loc}, {x}, [](const std::vector<Located>& xs) {
    return WithSlope(xs[0], CosineIntegral,
                     [](const Located& u, const Located&) { return Cos(u) / u; });
  });
  return {sine, cosine};
}
std::pair<Array, Array> fresnel(Operand x, Loc loc) {
  const auto part = [&](Located Waves::*which) {
    return WideFormula({"fresnel", loc}, {x}, [which](const std::vector<Located>& xs) {
      return FresnelPart(xs[0], which);
    });
  };
  return {part(&Waves::sine), part(&Waves::cosine)};
}
Array spence(Operand x, Loc loc) {
  return RealFormula({"spence", loc}, x, [](const Located& a) {
    return WithSlope(a, Spence,
                     [](const Located& u, const Located&) { return -Log1pQuotient(u - 1); });
  });
}

}  // namespace tessera

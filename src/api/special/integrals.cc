// Bessel functions and integrals of exponentials, sines and logarithms.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "api/special/coefficients.h"
#include "api/special/real.h"
#include "tessera/control.h"
#include "tessera/custom_rules.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

template <class F, class G>
Located WithDerivative(const Located& x, const F& f, const G& slope) {
  const Loc loc = x.loc();
  const auto function = [=](Array a) -> Array { return f(Located(a, loc)); };
  const auto rule = [=](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    const Located u(std::get<0>(primals), loc), du(std::get<0>(tangents), loc);
    return std::pair<Array, Array>(f(u), slope(u) * du);
  };
  return x.With(custom_jvp(function, rule, loc)(x.plain(), loc));
}

Located Rational(std::span<const double> top, std::span<const double> bottom, const Located& x) {
  return Polynomial(top, x) / Polynomial(bottom, x);
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

// Returns e^x / x * (1 + f(1 / x) / x) for rational f.
Located ExpiPart(std::span<const double> top, std::span<const double> bottom, const Located& x) {
  const Located w = 1.0 / x;
  return Exp(x) * w * (w * Rational(top, bottom, w) + 1);
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
  return WithDerivative(
      x, [part](const Located& u) { return If(IsNan(u), u, Sign(u) * (FresnelOf(Abs(u)).*part)); },
      [part](const Located& u) { return HalfTurns(Abs(u)).*part; });
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
  return RealFormula({"i0", loc}, x,
                     [loc](const Located& a) { return Exp(Abs(a)) * a.With(bessel_i0e(a, loc)); });
}
Array i1(Operand x, Loc loc) {
  return RealFormula({"i1", loc}, x,
                     [loc](const Located& a) { return Exp(Abs(a)) * a.With(bessel_i1e(a, loc)); });
}
Array bessel_jn(Operand x, int64_t v, int64_t n_iter, Loc loc) {
  const Call call{"bessel_jn", loc};
  if (v < 0 || n_iter < v)
    FailShape(call, 17, fmt::format("orders 0 to {} need as many steps, not {}", v, n_iter));
  return AsOne(call, {x, v, n_iter}, [&](const Operand& operand) -> Array {
    const Array given = ToFloat(operand, call);
    const Located z(Widened(given, call), loc);
    // From the highest order down: each is 2 (k + 1) / z times the next, minus the one after.
    Located after = z * 0.0, next = after + 1e-16, even = after;
    std::vector<Located> kept;
    for (int64_t k = n_iter; k >= 0; --k) {
      const Located own = 2.0 * (static_cast<double>(k) + 1) * next / z - after;
      after = next;
      next = own;
      if (k % 2 == 0) even = even + 2.0 * own;
      if (k <= v) kept.insert(kept.begin(), own);
    }
    std::vector<Array> orders;
    for (const Located& one : kept) orders.push_back(one / (even - next));
    return Convert(stack(orders, 0, loc), TypeOf(given)->dtype(), call);
  });
}

Array expi(Operand x, Loc loc) {
  return RealFormula({"expi", loc}, x, [](const Located& a) {
    return WithDerivative(a, Expi, [](const Located& u) { return Exp(u) / u; });
  });
}
Array exp1(Operand x, Loc loc) {
  return RealFormula({"exp1", loc}, x, [](const Located& a) {
    return WithDerivative(a, Exp1, [](const Located& u) { return -Exp(-u) / u; });
  });
}
std::pair<Array, Array> sici(Operand x, Loc loc) {
  const Array sine = WideFormula({"sici", loc}, {x}, [](const std::vector<Located>& xs) {
    return WithDerivative(xs[0], SineIntegral, [](const Located& u) {
      const Located safe = If(u == 0, 1.0, u);
      return If(u == 0, 1.0, Sin(safe) / safe);
    });
  });
  const Array cosine = WideFormula({"sici", loc}, {x}, [](const std::vector<Located>& xs) {
    return WithDerivative(xs[0], CosineIntegral, [](const Located& u) { return Cos(u) / u; });
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
Array spence(Operand x, Loc loc) { return RealFormula({"spence", loc}, x, Spence); }

}  // namespace tessera

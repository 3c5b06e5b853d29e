// The normal distribution, and scaled error functions.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "api/special/coefficients.h"
#include "api/special/real.h"
#include "tessera/custom_rules.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

// Returns f with this derivative: slope(x, f(x)).
template <class F, class G>
Located WithSlope(const Located& x, const F& f, const G& slope) {
  const Loc loc = x.loc();
  const auto function = [=](Array a) -> Array { return f(Located(a, loc)); };
  const auto rule = [=](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    const Located u(std::get<0>(primals), loc), du(std::get<0>(tangents), loc);
    const Located y = f(u);
    return std::pair<Array, Array>(y, du * slope(u, y));
  };
  return x.With(custom_jvp(function, rule, loc)(x.plain(), loc));
}

Located Erf(const Located& x) { return x.With(erf(x, x.loc())); }
Located Erfc(const Located& x) { return x.With(erfc(x, x.loc())); }

Located Ndtr(const Located& x) {
  constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
  const Located w = x * kHalfRoot, z = Abs(w);
  return 0.5 * If(z < kHalfRoot, 1 + Erf(w), If(w > 0, 2 - Erfc(z), Erfc(z)));
}

// For x below `lower` an asymptotic series; above `upper` the logarithm is about -ndtr(-x).
Located LogNdtr(const Located& x) {
  const bool is_wide = x.dtype() == f64;
  const double lower = is_wide ? -20 : -10, upper = is_wide ? 8 : 5;
  const Located is_high = x > upper;
  const Located middle = x.With(maximum(x, Operand(lower, x.loc()), {}, x.loc()));
  const Located p = Ndtr(If(is_high, -x, middle));
  const Located low = x.With(minimum(x, Operand(lower, x.loc()), {}, x.loc()));
  const Located t = 1.0 / Square(low);
  const Located series = 1 - t + 3 * t * t - 15 * t * t * t;
  const Located tail =
      -0.5 * Square(low) - Log(-low) - 0.5 * std::log(2 * std::numbers::pi) + Log(series);
  return If(is_high, -p, If(x > lower, Log(p), tail));
}

// Rational approximations around 1/2 and of sqrt(-2 log p) in the tails.
Located Ndtri(const Located& p) {
  const Located folded = If(p > -std::expm1(-2.0), 1 - p, p);
  const Located q = If(folded == 0, 0.5, folded);
  const Located w = q - 0.5, ww = Square(w);
  const Located centre =
      (w + w * ww * (Polynomial(kNdtri0Top, ww) / Polynomial(kNdtri0Bottom, ww))) *
      -std::sqrt(2 * std::numbers::pi);
  const Located z = Sqrt(-2 * Log(q)), first = z - Log(z) / z, r = 1 / z;
  const Located far = first - Polynomial(kNdtri2Top, r) / Polynomial(kNdtri2Bottom, r) / z;
  const Located near = first - Polynomial(kNdtri1Top, r) / Polynomial(kNdtri1Bottom, r) / z;
  Located x = If(q > std::exp(-2.0), centre, If(z >= 8, far, near));
  x = If(p > 1 - std::exp(-2.0), x, -x);
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  return If(p == 0, -kEnd, If(p == 1, kEnd, x));
}

// An asymptotic series where e^(x^2) would overflow.
Located Erfcx(const Located& x) {
  const double most =
      x.dtype() == f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const Located is_large = x > std::sqrt(std::log(most));
  const Located small = If(is_large, 1.0, x);
  const Located t = 1 / Square(x);
  constexpr std::array<double, 9> kSeries = {
      7918.06640625, -1055.7421875, 162.421875, -29.53125, 6.5625, -1.875, .75, -.5, 1.};
  const std::span<const double> terms = kSeries;
  const Located large = Polynomial(x.dtype() == f64 ? terms : terms.subspan(4), t) /
                        (x * std::sqrt(std::numbers::pi));
  return If(is_large, large, Exp(Square(small)) * Erfc(small));
}

Located Dawsn(const Located& x) {
  const Located a = Abs(x);
  const Located is_near = a < 3.25, is_far = a >= 6.25, is_between = (a >= 3.25) & (a < 6.25);
  const Located a1 = If(is_near, a, 1.0), s1 = Square(a1);
  const Located a2 = If(is_between, a, 1.0), t2 = 1 / Square(a2);
  const Located a3 = If(is_far, a, 1.0), t3 = 1 / Square(a3);
  const Located near = a1 * Polynomial(kDawsn1Top, s1) / Polynomial(kDawsn1Bottom, s1);
  const Located between =
      0.5 / a2 * (1 + t2 * Polynomial(kDawsn2Top, t2) / Polynomial(kDawsn2Bottom, t2));
  const Located far =
      0.5 / a3 * (1 + t3 * Polynomial(kDawsn3Top, t3) / Polynomial(kDawsn3Bottom, t3));
  return Sign(x) * If(is_near, near, If(a < 6.25, between, far));
}

}  // namespace

Array ndtr(Operand x, Loc loc) { return RealFormula({"ndtr", loc}, x, Ndtr); }
Array log_ndtr(Operand x, Loc loc) {
  return RealFormula({"log_ndtr", loc}, x, [](const Located& a) {
    return WithSlope(a, LogNdtr, [](const Located& u, const Located& y) {
      return Exp(-0.5 * Square(u) - 0.5 * std::log(2 * std::numbers::pi) - y);
    });
  });
}
Array ndtri(Operand p, Loc loc) { return RealFormula({"ndtri", loc}, p, Ndtri); }
Array erfcx(Operand x, Loc loc) {
  return RealFormula({"erfcx", loc}, x, [](const Located& a) {
    return WithSlope(a, Erfcx, [](const Located& u, const Located& y) {
      return 2 * u * y - 2 / std::sqrt(std::numbers::pi);
    });
  });
}
Array dawsn(Operand x, Loc loc) {
  return RealFormula({"dawsn", loc}, x, [](const Located& a) {
    return WithSlope(a, Dawsn, [](const Located& u, const Located& y) { return 1 - 2 * u * y; });
  });
}

}  // namespace tessera

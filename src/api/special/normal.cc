// The normal distribution, and error functions of real and complex numbers.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "api/special/coefficients.h"
#include "api/special/real.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

Located Erf(const Located& x) { return x.With(erf(x, x.loc())); }
Located Erfc(const Located& x) { return x.With(erfc(x, x.loc())); }

// Returns erfc(h / sqrt(2)) for 0 <= h < 40. The digits that the quotient loses count by the
// derivative, which is steep.
Located ErfcOfRoot(const Located& h) {
  constexpr double kHalfRoot = std::numbers::sqrt2 / 2, kRest = -4.833646656726458e-17;
  // The products of the first parts are exact.
  constexpr double kFirst = 47453133. / (1 << 26), kSecond = (kHalfRoot - kFirst) + kRest;
  const Located part = Floor(h * (1 << 20)) / (1 << 20);
  const Located exact = part * kFirst, small = (h - part) * kHalfRoot + part * kSecond;
  const Located z = exact + small, lost = (exact - z) + small;
  return Erfc(z) - 2 * std::numbers::inv_sqrtpi * Exp(-Square(z)) * lost;
}

Located Ndtr(const Located& x) {
  const Located z = Abs(x), is_far = z >= 40;
  const Located tail = If(is_far, 0.0, 0.5 * ErfcOfRoot(If(is_far, 1.0, z)));
  const Located middle = 0.5 * (1 + Erf(If(z < 1, x, 0.0) * (std::numbers::sqrt2 / 2)));
  return If(z < 1, middle, If(x > 0, 1 - tail, tail));
}

// Beyond the limit it is 0, and the square's derivative would overflow.
Located NormalDensity(const Located& x) {
  constexpr double kLimit = 40;
  const Located limited = If(Abs(x) > kLimit, kLimit, x);
  return Exp(-0.5 * Square(limited)) / std::sqrt(2 * std::numbers::pi);
}
Located NdtrWithSlope(const Located& x) {
  return WithSlope(x, Ndtr, [](const Located& u, const Located&) { return NormalDensity(u); });
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

// Returns e^(scale x^2) without the rounding of x^2: a part of x has few digits, so that its square
// is exact.
Located ExpOfSquare(const Located& x, double scale) {
  const Located part = Floor(x * 16) / 16;
  return Exp(scale * Square(part)) * Exp(scale * (x - part) * (x + part));
}

// Returns sqrt(pi) x erfcx(x) of t = 1 / x, for x from kFarErfcx on: an asymptotic series.
constexpr double kFarErfcx = 8;
Located ErfcxSeries(const Located& t) {
  std::array<double, 22> series{};  // of t^2 / 2
  double term = 1;
  for (size_t k = 0; k < series.size(); ++k) {
    series[series.size() - 1 - k] = term;
    term *= -static_cast<double>(2 * k + 1);
  }
  return Polynomial(series, 0.5 * Square(t));
}

// By the series where e^(x^2) would overflow, and the terms of the slope would cancel.
Located Erfcx(const Located& x) {
  constexpr double kLeast = -30;  // e^(x^2) is infinite below
  const Located is_far = x >= kFarErfcx, far = If(is_far, x, kFarErfcx), t = 1 / far;
  const Located large = ErfcxSeries(t) * t * std::numbers::inv_sqrtpi;
  const Located near = WithSlope(
      If(is_far, 1.0, x),
      [](const Located& u) {
        const Located limited = If(u < kLeast, kLeast, u);
        return ExpOfSquare(limited, 1) * Erfc(limited);
      },
      [](const Located& u, const Located& y) { return 2 * u * y - 2 * std::numbers::inv_sqrtpi; });
  return If(is_far, large, near);
}

// Below 0, e^(-x^2 / 2) is taken out of the logarithm.
Located LogNdtr(const Located& x) {
  const Located low = If(x < 0, x, 0.0), high = If(x < 0, 0.0, x);
  const Located tail = Log(0.5 * Erfcx(low * -(std::numbers::sqrt2 / 2))) - 0.5 * low * low;
  return If(x < 0, tail, Log1p(-Ndtr(-high)));
}

// Rational approximations, whose own derivatives have few digits.
Located NearDawsn(const Located& x) {
  const Located a = Abs(x), is_near = a < 3.25;
  const Located a1 = If(is_near, a, 1.0), s1 = Square(a1);
  const Located a2 = If(is_near, 4.0, a), t2 = 1 / Square(a2);
  const Located near = a1 * Polynomial(kDawsn1Top, s1) / Polynomial(kDawsn1Bottom, s1);
  const Located between =
      0.5 / a2 * (1 + t2 * Polynomial(kDawsn2Top, t2) / Polynomial(kDawsn2Bottom, t2));
  return Sign(x) * If(is_near, near, between);
}
Located Dawsn(const Located& x) {
  constexpr double kFar = 6.25;
  const Located is_far = Abs(x) >= kFar;
  const Located far = If(is_far, x, kFar), u = 1 / far, t = Square(u);
  const Located large =
      0.5 * u * (1 + t * Polynomial(kDawsn3Top, t) / Polynomial(kDawsn3Bottom, t));
  const Located near = WithSlope(If(is_far, 0.0, x), NearDawsn,
                                 [](const Located& v, const Located& y) { return 1 - 2 * v * y; });
  return If(is_far, large, near);
}

// ---- Owen's function ----

// For h >= 0 and 0 <= a <= 1, by the rule of Gauss up to where the integrand vanishes.
Located OwensIntegral(const Located& h, const Located& a) {
  const Located end = If(h * a > 9, 9 / If(h == 0, 1.0, h), a);
  Located sum = end * 0.0;
  for (size_t i = 0; i < kGaussPoints.size(); ++i) {
    const Located t = end * kGaussPoints[i];
    sum = sum + kGaussWeights[i] * Exp(-0.5 * Square(h * t)) / (1 + Square(t));
  }
  return ExpOfSquare(h, -0.5) * end * sum / (2 * std::numbers::pi);
}

Located OwensT(const std::vector<Located>& xs) {
  constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
  const Located h = Abs(xs[0]), a = Abs(xs[1]), is_over = a > 1;
  // Past 40, e^(-h^2 / 2) is 0. Infinite a are as good as large ones.
  const Located near = If(h > 40, 40.0, h), steep = If(a > 1e300, 1e300, a);
  const Located scaled = If(is_over, steep * near, near), other = If(scaled > 40, 40.0, scaled);
  const Located part = OwensIntegral(other, If(is_over, 1 / steep, a));
  const Located small = 0.25 - 0.25 * Erf(near * kHalfRoot) * Erf(other * kHalfRoot) - part;
  const Located e = ErfcOfRoot(near), f = ErfcOfRoot(other);
  const Located large = 0.25 * (e + f - e * f) - part;
  const Located y = If(is_over, If(scaled <= 0.67, small, large), part);
  return If(IsNan(h) | IsNan(a), kNoValue, Sign(xs[1]) * y);
}

std::vector<Located> SlopesOfOwensT(const std::vector<Located>& xs, const Located&) {
  const Located &h = xs[0], &a = xs[1], u = 1 + Square(a);
  const Located by_h = -Exp(-0.5 * Square(h)) * Erf(a * h * (std::numbers::sqrt2 / 2)) /
                       (2 * std::sqrt(2 * std::numbers::pi));
  return {by_h, Exp(-0.5 * u * Square(h)) / (2 * std::numbers::pi * u)};
}

// ---- the Faddeeva function ----

Located ComplexLike(const Located& like, double re, double im) {
  const auto part = [&](double v) { return array(v, {.dtype = f64}, like.loc()); };
  return like.With(complex(part(re), part(im), {}, like.loc()));
}

// Weideman's rational function, with its slope.
Located NearFaddeeva(const Located& z) {
  const auto value = [](const Located& u) {
    const Located i = ComplexLike(u, 0, 1), scale = ComplexLike(u, kFaddeevaScale, 0);
    const Located below = scale - i * u, ratio = (scale + i * u) / below;
    Located sum = ratio * 0.0 + kFaddeeva[0];
    for (const double c : std::span(kFaddeeva).subspan(1)) sum = sum * ratio + c;
    return (2.0 * sum / below + std::numbers::inv_sqrtpi) / below;
  };
  return WithSlope(z, value, [](const Located& u, const Located& w) {
    return ComplexLike(u, 0, 2 * std::numbers::inv_sqrtpi) - 2.0 * u * w;
  });
}
// A continued fraction for large z, where the terms of the slope would cancel.
Located FarFaddeeva(const Located& z) {
  Located rest = z * 0.0;
  for (int k = 20; k > 0; --k) rest = 0.5 * k / (z - rest);
  return ComplexLike(z, 0, std::numbers::inv_sqrtpi) / (z - rest);
}
// For imaginary parts of 0 and more.
Located UpperFaddeeva(const Located& z) {
  const Located is_far = z.With(abs(z, z.loc())) >= 7;
  return If(is_far, FarFaddeeva(If(is_far, z, ComplexLike(z, 8, 0))),
            NearFaddeeva(If(is_far, ComplexLike(z, 0, 0), z)));
}

Located Faddeeva(const Located& z) {
  const Located is_upper = z.With(imag(z, z.loc())) >= 0;
  const Located upper = UpperFaddeeva(If(is_upper, z, -z));
  return If(is_upper, upper, 2.0 * Exp(-(z * z)) - upper);
}

}  // namespace

Array owens_t(Operand h, Operand a, Loc loc) {
  return WideFormula({"owens_t", loc}, {{"h", h}, {"a", a}}, [](const std::vector<Located>& xs) {
    return WithSlopes(xs, OwensT, SlopesOfOwensT);
  });
}
Array wofz(Operand z, Loc loc) {
  const Call call{"wofz", loc};
  return AsOne(call, {z}, [&](const Operand& operand) -> Array {
    const Array x = ToFloat(operand, call);
    const DType t = TypeOf(x)->dtype(), made = t == f64 || t == c128 ? c128 : c64;
    const Located wide(Convert(x, c128, call), loc);
    return Convert(Faddeeva(wide), made, call);
  });
}

Array ndtr(Operand x, Loc loc) {
  return WideFormula({"ndtr", loc}, {x},
                     [](const std::vector<Located>& xs) { return NdtrWithSlope(xs[0]); });
}
Array log_ndtr(Operand x, Loc loc) {
  return WideFormula({"log_ndtr", loc}, {x}, [](const std::vector<Located>& xs) {
    return WithSlope(xs[0], LogNdtr, [](const Located& u, const Located&) {
      const Located is_far = u < -kFarErfcx * std::numbers::sqrt2;
      const Located far = If(is_far, u, -kFarErfcx * std::numbers::sqrt2);
      const Located low = If((u < 0) & !is_far, u, 0.0), high = If(u < 0, 0.0, u);
      const Located tail =
          std::sqrt(2 / std::numbers::pi) / Erfcx(low * -(std::numbers::sqrt2 / 2));
      const Located end = -far / ErfcxSeries(std::numbers::sqrt2 / far);
      return If(is_far, end, If(u < 0, tail, NormalDensity(high) / NdtrWithSlope(high)));
    });
  });
}
Array ndtri(Operand p, Loc loc) {
  return RealFormula({"ndtri", loc}, p, [](const Located& a) {
    return WithSlope(a, Ndtri, [](const Located&, const Located& y) {
      return std::sqrt(2 * std::numbers::pi) * Exp(0.5 * Square(y));
    });
  });
}
Array erfcx(Operand x, Loc loc) {
  return WideFormula({"erfcx", loc}, {x},
                     [](const std::vector<Located>& xs) { return Erfcx(xs[0]); });
}
Array dawsn(Operand x, Loc loc) {
  return WideFormula({"dawsn", loc}, {x},
                     [](const std::vector<Located>& xs) { return Dawsn(xs[0]); });
}

}  // namespace tessera

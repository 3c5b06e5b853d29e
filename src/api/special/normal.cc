// The normal distribution, and error functions of real and complex numbers.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "api/special/coefficients.h"
#include "api/special/real.h"
#include "tessera/custom_rules.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

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
  return If(is_large, large, ExpOfSquare(small, 1) * Erfc(small));
}

// Below 0, e^(-x^2 / 2) is taken out of the logarithm.
Located LogNdtr(const Located& x) {
  const Located low = If(x < 0, x, 0.0), high = If(x < 0, 0.0, x);
  const Located tail = Log(0.5 * Erfcx(low * -(std::numbers::sqrt2 / 2))) - 0.5 * Square(low);
  return If(x < 0, tail, Log1p(-Ndtr(-high)));
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

// For imaginary parts of 0 and more: Weideman's rational function, and for large z a continued
// fraction.
Located UpperFaddeeva(const Located& z) {
  const Located is_far = z.With(abs(z, z.loc())) >= 7;
  const Located zero = ComplexLike(z, 0, 0), i = ComplexLike(z, 0, 1);
  const Located near = If(is_far, zero, z), far = If(is_far, z, ComplexLike(z, 8, 0));
  const Located scale = ComplexLike(z, kFaddeevaScale, 0), below = scale - i * near;
  const Located ratio = (scale + i * near) / below;
  Located sum = ratio * 0.0 + kFaddeeva[0];
  for (const double c : std::span(kFaddeeva).subspan(1)) sum = sum * ratio + c;
  const Located inner = (2.0 * sum / below + std::numbers::inv_sqrtpi) / below;
  Located rest = far * 0.0;
  for (int k = 20; k > 0; --k) rest = 0.5 * k / (far - rest);
  return If(is_far, i * std::numbers::inv_sqrtpi / (far - rest), inner);
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
    const Located y = WithSlope(wide, Faddeeva, [](const Located& u, const Located& w) {
      return ComplexLike(u, 0, 2 * std::numbers::inv_sqrtpi) - 2.0 * u * w;
    });
    return Convert(y, made, call);
  });
}

Array ndtr(Operand x, Loc loc) {
  return WideFormula({"ndtr", loc}, {x},
                     [](const std::vector<Located>& xs) { return Ndtr(xs[0]); });
}
Array log_ndtr(Operand x, Loc loc) {
  return WideFormula({"log_ndtr", loc}, {x}, [](const std::vector<Located>& xs) {
    return WithSlope(xs[0], LogNdtr, [](const Located& u, const Located& y) {
      const Located low = If(u < 0, u, 0.0);
      const Located tail =
          std::sqrt(2 / std::numbers::pi) / Erfcx(low * -(std::numbers::sqrt2 / 2));
      return If(u < 0, tail, Exp(-0.5 * Square(u) - 0.5 * std::log(2 * std::numbers::pi) - y));
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

// Hypergeometric functions: series, and transformations to where they converge.
#include <functional>
#include <limits>
#include <numbers>
#include <optional>

#include "api/special/real.h"
#include "tessera/control.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

using Locateds = std::vector<Located>;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kUnit = std::numeric_limits<double>::epsilon();

// A series whose term k + 1 is term k times ratio(k). With `slope`, the derivative of the ratio in
// a parameter, its terms are the derivatives of these.
struct Series {
  std::function<Located(const Located& k)> ratio;
  std::function<Located(const Located& k)> slope = {};
  // Elements whose terms end with zeros, and may grow after they have been small.
  std::optional<Located> is_finite = {};
};

// Sums until no element changes. Every element stops by itself, so that an asymptotic series does
// not diverge because of others. `like` gives the type.
Located Sum(const Located& like, const Series& series) {
  constexpr double kMostTerms = 20000;
  const Loc loc = like.loc();
  const Located zeros = like.With(zeros_like(like, {}, loc)), ones = zeros + 1.0;
  enum { kIndex, kTerm, kTermSlope, kSum, kGoesOn };
  using State = std::vector<Array>;
  const auto is_more = [loc](State s) -> Array {
    return Located(any(s[kGoesOn], All, {}, loc), loc) & (Located(s[kIndex], loc) < kMostTerms);
  };
  const auto next = [&](State s) -> State {
    const Located k(s[kIndex], loc), last(s[kTerm], loc), sum(s[kSum], loc);
    const Located ratio = series.ratio(k), term = last * ratio;
    Located slope(s[kTermSlope], loc);
    if (series.slope) slope = slope * ratio + last * series.slope(k);
    const Located part = series.slope ? slope : term, goes_on(s[kGoesOn], loc);
    const Located total = If(goes_on, sum + part, sum);
    Located counts = Abs(part) > Abs(total) * kUnit;
    if (series.is_finite) counts = If(*series.is_finite, term != 0, counts);
    return {k + 1.0, term, slope, total, goes_on & counts};
  };
  const Located first = series.slope ? zeros : ones;
  const Located index(zeros_like(Array(0.0), {.dtype = f64}, loc), loc);
  const State end = while_loop(is_more, next, State{index, ones, zeros, first, ones != 0}, loc);
  return like.With(end[kSum]);
}

Located SignOfGamma(const Located& x) { return x.With(gammasgn(x, x.loc())); }
Located PowerOf(const Located& x, const Located& y) { return x.With(pow(x, y, {}, x.loc())); }
Located GammaOf(const Located& x) { return x.With(gamma(x, x.loc())); }

// ---- hyp1f1 ----

Series Series1f1(const Located& a, const Located& b, const Located& x) {
  return {.ratio = [=](const Located& k) { return (a + k) / (b + k) * x / (k + 1.0); }};
}

// A negative x is mapped to -x by Kummer's transformation, which leaves sums of positive terms.
// Large x have an asymptotic series (Pearson, Olver and Porter, "Numerical methods for the
// computation of the confluent and Gauss hypergeometric functions", 2014, 3.8).
Located Confluent(const Locateds& xs) {
  const Located &given = xs[0], &b = xs[1], &x = xs[2];
  const Located is_low = x < 0, a = If(is_low, b - given, given), z = Abs(x);
  const Located is_far = (z >= 100) & (Abs((b - a) * (1.0 - a)) < 0.5 * z);
  const Located near = Sum(x, Series1f1(a, b, If(is_far, 0.0, z)));
  const Located safe = If(is_far, z, 100.0), p = If(is_far, b - a, 0.0),
                q = If(is_far, 1.0 - a, 0.0);
  const Located far =
      Sum(x, {.ratio = [=](const Located& k) { return (p + k) * (q + k) / (k + 1.0) / safe; }});
  const Located scale =
      SignOfGamma(a) * SignOfGamma(b) * Exp(Lgamma(b) - Lgamma(a)) * PowerOf(safe, a - b);
  const Located y =
      If(is_low, If(is_far, scale * far, Exp(x) * near), If(is_far, scale * Exp(z) * far, near));
  const Located special = If(given == 0, 1.0, If(b == 0, kUnbounded, Exp(x)));
  return If((given == 0) | (b == 0) | (given == b), special, y);
}

Locateds SlopesOfConfluent(const Locateds& xs, const Located&) {
  const Located &a = xs[0], &b = xs[1], &x = xs[2];
  Series by_a = Series1f1(a, b, x), by_b = by_a;
  by_a.slope = [=](const Located& k) { return x / (b + k) / (k + 1.0); };
  by_b.slope = [=](const Located& k) { return -(a + k) / Square(b + k) * x / (k + 1.0); };
  return {Sum(x, by_a), Sum(x, by_b), a / b * Confluent({a + 1.0, b + 1.0, x})};
}

// ---- hyp2f1 ----

Series Series2f1(const Located& a, const Located& b, const Located& c, const Located& x) {
  return {.ratio = [=](const Located& k) { return (a + k) * (b + k) / (c + k) / (k + 1.0) * x; }};
}

Located IsWhole(const Located& x) {
  const Located nearest = x.With(round(x, {}, x.loc()));
  return Abs(x - nearest) < 50 * kUnit;
}

// For c - a - b = m or close to it, m whole, near x = 1 (Abramowitz and Stegun, "Handbook of
// Mathematical Functions", 15.3.10 to 15.3.12): a finite sum, and one with digammas and a
// logarithm.
Located NearOne(const Locateds& xs) {
  const Located &a = xs[0], &b = xs[1], &c = xs[2], s = 1.0 - xs[3];
  const Located d = c - a - b, m = d.With(round(d, {}, d.loc()));
  const Located is_low = m < 0, e = If(is_low, -d, d);
  const Located up = If(is_low, 0.0, d), down = If(is_low, d, 0.0);
  const Located p = a + up, q = b + up, u = a + down, v = b + down;
  const Located log_s = Log(s);
  // The digammas of each term are the sum of those of term 0 and of reciprocals.
  const Located start = Digamma(1.0 + e) - std::numbers::egamma - Digamma(p) - Digamma(q) - log_s;
  const auto ratio = [=](const Located& k) {
    return s * (p + k) * (q + k) / (k + 1.0) / (k + 1.0 + e);
  };
  const Series powers{.ratio = ratio};
  const Series digammas{
      .ratio = ratio, .slope = [=](const Located& k) {
        return ratio(k) * (1.0 / (k + 1.0) + 1.0 / (k + 1.0 + e) - 1.0 / (p + k) - 1.0 / (q + k));
      }};
  const Located endless = (start * Sum(s, powers) + Sum(s, digammas)) / GammaOf(e + 1.0);
  const Located count = If(is_low, -m, m), zero = count * 0.0;
  const Located few = Sum(s, {.ratio =
                                  [=](const Located& k) {
                                    const Located factor =
                                        s * (u + k) * (v + k) / (1.0 - e + k) / (k + 1.0);
                                    return If(k + 1.0 < count, factor, zero);
                                  },
                              .is_finite = count >= 0});
  const Located gamma_c = GammaOf(c), power = PowerOf(s, m);
  const Located finite =
      few * GammaOf(If(count == 0, 1.0, e)) * gamma_c / (GammaOf(p) * GammaOf(q));
  const Located is_odd = count.With(remainder(count, Operand(2, s.loc()), {}, s.loc())) != 0;
  const Located rest = endless * gamma_c / (GammaOf(u) * GammaOf(v)) * If(is_odd, -1.0, 1.0);
  return If(count == 0, endless * gamma_c / (GammaOf(a) * GammaOf(b)),
            If(is_low, rest + finite * power, rest * power + finite));
}

// For x < 1.
Located GaussSeries(const Locateds& xs) {
  const Located &a = xs[0], &b = xs[1], &c = xs[2], &x = xs[3];
  const Located is_finite = ((a <= 0) & IsWhole(a)) | ((b <= 0) & IsWhole(b));
  // Pfaff's transformation maps x < 0 to between 0 and 1; c - b or c - a becomes a parameter.
  const Located maps = (x < 0) & (!is_finite), of_b = maps & (c - a > c - b);
  const Located p = If(of_b, c - a, a), q = If(maps & (!of_b), c - b, b);
  const Located z = If(maps, x / (x - 1.0), x);
  const Located scale = If(maps, PowerOf(1.0 - If(maps, x, 0.0), -If(of_b, b, a)), 1.0);
  const Located is_near = (!is_finite) & (z > 0.9) & IsWhole(c - p - q);
  Series series = Series2f1(p, q, c, If(is_near, 0.0, z));
  series.is_finite = is_finite;
  const Located safe = If(is_near, z, 0.95);
  return scale * If(is_near, NearOne({p, q, c, safe}), Sum(x, series));
}

Located Gauss(const Locateds& xs) {
  const Located &a = xs[0], &b = xs[1], &c = xs[2], &x = xs[3];
  const Located d = c - a - b, s = 1.0 - x;
  const Located is_one = (x == 0) | (((a == 0) | (b == 0)) & (c != 0));
  const Located is_pole = (c <= 0) & (c == Floor(c));
  const Located is_euler = (d <= -1) & (IsWhole(d) | (s >= 0));
  const Located at_end = x == 1, is_over = x > 1;
  const Located is_series = (!is_one) & (!is_pole) & (is_euler | ((!at_end) & (!is_over)));
  const Located u = If(is_series, x, 0.5);
  const Located series = GaussSeries({If(is_euler, c - a, a), If(is_euler, c - b, b), c, u});
  const Located power = PowerOf(s, If(b == c, -a, -b)), is_power = (x < 1) & ((b == c) | (a == c));
  const Located value = GammaOf(c) * GammaOf(d) / (GammaOf(c - a) * GammaOf(c - b));
  Located y = If(at_end, value, series);
  y = If(is_power, power, If(is_over | (at_end & (d <= 0)), kUnbounded, y));
  y = If(is_euler, PowerOf(s, d) * series, y);
  return If(is_one, 1.0, If(is_pole, kUnbounded, y));
}

Locateds SlopesOfGauss(const Locateds& xs, const Located&) {
  const Located &a = xs[0], &b = xs[1], &c = xs[2], &x = xs[3];
  Series by_a = Series2f1(a, b, c, x), by_b = by_a, by_c = by_a;
  by_a.slope = [=](const Located& k) { return (b + k) / (c + k) / (k + 1.0) * x; };
  by_b.slope = [=](const Located& k) { return (a + k) / (c + k) / (k + 1.0) * x; };
  by_c.slope = [=](const Located& k) { return -(a + k) * (b + k) / Square(c + k) / (k + 1.0) * x; };
  return {Sum(x, by_a), Sum(x, by_b), Sum(x, by_c),
          a * b / c * Gauss({a + 1.0, b + 1.0, c + 1.0, x})};
}

}  // namespace

Array hyp1f1(Operand a, Operand b, Operand x, Loc loc) {
  return WideFormula({"hyp1f1", loc}, {{"a", a}, {"b", b}, {"x", x}}, [](const Locateds& xs) {
    return WithSlopes(xs, Confluent, SlopesOfConfluent);
  });
}
Array hyp2f1(Operand a, Operand b, Operand c, Operand x, Loc loc) {
  return WideFormula({"hyp2f1", loc}, {{"a", a}, {"b", b}, {"c", c}, {"x", x}},
                     [](const Locateds& xs) { return WithSlopes(xs, Gauss, SlopesOfGauss); });
}

}  // namespace tessera

// Hypergeometric functions: series, and transformations to where they converge.
#include <array>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>

#include "api/special/precise.h"
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

// As Sum, of a series without slope, to more digits than f64 has: precise(k) is ratio(k).
Located SumPrecisely(const Located& like, const Series& series,
                     const std::function<Precise(const Located& k)>& precise) {
  constexpr double kMostTerms = 20000, kLeast = kUnit / 256;
  // Parts of numbers near the largest f64 would overflow.
  constexpr double kScale = 0x1p-200;
  const Loc loc = like.loc();
  const Located zeros = like.With(zeros_like(like, {}, loc)), ones = zeros + kScale;
  enum { kIndex, kTerm, kTermRest, kSum, kSumRest, kGoesOn };
  using State = std::vector<Array>;
  const auto is_more = [loc](State s) -> Array {
    return Located(any(s[kGoesOn], All, {}, loc), loc) & (Located(s[kIndex], loc) < kMostTerms);
  };
  const auto next = [&](State s) -> State {
    const auto at = [&](size_t i) { return Located(s[i], loc); };
    const Located k = at(kIndex), rounded = at(kTerm) * series.ratio(k);
    const Precise last{at(kTerm), at(kTermRest)}, sum{at(kSum), at(kSumRest)};
    const Precise exact = last * precise(k), total = sum + exact;
    // Where a part of a number overflows, the number does, or comes close to it.
    const Located is_exact = Abs(total.high) < kUnbounded, goes_on = at(kGoesOn);
    const Precise term = If(is_exact, exact, {rounded, zeros});
    const Precise now = If(goes_on, If(is_exact, total, {sum.high + rounded, zeros}), sum);
    const Located counts = Abs(term.high) > Abs(now.high) * kLeast;
    return {k + 1.0, term.high, term.low, now.high, now.low, goes_on & counts};
  };
  const Located index(zeros_like(Array(0.0), {.dtype = f64}, loc), loc);
  const State end =
      while_loop(is_more, next, State{index, ones, zeros, ones, zeros, ones != 0}, loc);
  return like.With(end[kSum]) * (1 / kScale);
}

Located SignOfGamma(const Located& x) { return x.With(gammasgn(x, x.loc())); }
Located PowerOf(const Located& x, const Located& y) { return x.With(pow(x, y, {}, x.loc())); }
Located GammaOf(const Located& x) { return x.With(gamma(x, x.loc())); }

// ---- hyp1f1 ----

Series Series1f1(const Located& a, const Located& b, const Located& x) {
  return {.ratio = [=](const Located& k) { return (a + k) / (b + k) * x / (k + 1.0); }};
}

// Returns gamma(b) / gamma(a): at a + n and b + n, where Stirling's formula rounds few times, and
// back by recurrence.
Located GammaRatio(const Precise& a, const Located& b) {
  constexpr int64_t kSteps = 10;
  const Loc loc = b.loc();
  const Located zeros = b.With(zeros_like(b, {}, loc)), ones = zeros + 1.0;
  using State = std::array<Array, 4>;
  const auto next = [&](Array i, State s) -> State {
    const auto at = [&](size_t k) { return Located(s[k], loc); };
    const Located k = b.With(astype(i, f64, loc));
    const Precise of_a = Precise{at(0), at(1)} * (a + k);
    const Precise of_b = Precise{at(2), at(3)} * ExactSum(b, k);
    return {of_a.high, of_a.low, of_b.high, of_b.low};
  };
  const State s = fori_loop(0, kSteps, next, State{ones, zeros, ones, zeros}, {}, loc);
  const Precise product = Precise{b.With(s[0]), b.With(s[1])} / Precise{b.With(s[2]), b.With(s[3])};
  const Located steps = zeros + double{kSteps};
  const Precise top = ExactSum(b, steps), bottom = a + steps;
  const Located lost = top.low * Digamma(top.high) - bottom.low * Digamma(bottom.high);
  return product.high * (GammaOf(top.high) / GammaOf(bottom.high)) * (1.0 + lost);
}

// The asymptotic series for large z, where p is b - a (Pearson, Olver and Porter, "Numerical
// methods for the computation of the confluent and Gauss hypergeometric functions", 2014, 3.8).
Located FarConfluent(const Precise& a, const Located& b, const Precise& p, const Located& z,
                     bool is_precise) {
  constexpr double kLarge = 160;
  const Located zeros = z.With(zeros_like(z, {}, z.loc())), u = p.high,
                v = (-a + (zeros + 1.0)).high;
  Located scale = SignOfGamma(a.high) * SignOfGamma(b) * Exp(Lgamma(b) - Lgamma(a.high));
  if (is_precise) {
    const Located is_small = (Abs(a.high) < kLarge) & (Abs(b) < kLarge);
    const Precise safe = If(is_small, a, {zeros + 1.0, zeros});
    scale = If(is_small, GammaRatio(safe, If(is_small, b, 1.0)), scale);
  }
  // The power feels the rounding error of its exponent.
  const Located power = PowerOf(z, -u) * (1.0 - p.low * Log(If(z < kUnbounded, z, 1.0)));
  const Series series{.ratio = [=](const Located& k) { return (u + k) * (v + k) / (k + 1.0) / z; }};
  return scale * power * Sum(z, series);
}

// A negative x is mapped to -x by Kummer's transformation, which leaves sums of positive terms.
// For large x the asymptotic series is taken, if its smallest term, about
// e^-z z^(p + q) / (gamma(p) gamma(q)), is small. Precise: for results with more digits than f32.
Located Confluent(const Locateds& xs, bool is_precise) {
  const Located &given = xs[0], &b = xs[1], &x = xs[2];
  const Located is_low = x < 0, z = Abs(x), zeros = x.With(zeros_like(x, {}, x.loc()));
  const Precise exact{given, zeros}, rest = ExactSum(b, -given);
  const Precise a = If(is_low, rest, exact), p = If(is_low, exact, rest);
  const Located q = 1.0 - a.high;
  const Located digits = z - (p.high + q) * Log(If(z > 1, z, 1.0)) + Lgamma(p.high) + Lgamma(q);
  const auto ends = [](const Located& v) { return (v <= 0) & (v == Floor(v)); };
  const Located is_far = (z >= 100) & (Abs(p.high * q) < 0.5 * z) & ((digits > 40) | (z > 700)) &
                         (!ends(a.high)) & (!ends(b));
  const Located close = If(is_far, 0.0, z);
  const Series series = Series1f1(a.high, b, close);
  const auto precise = [&](const Located& k) {
    return (a + k) * close / (ExactSum(b, k) * (k + 1.0));
  };
  const Located near = is_precise ? SumPrecisely(x, series, precise) : Sum(x, series);
  const Precise one{zeros + 1.0, zeros}, zero{zeros, zeros};
  const Located far = FarConfluent(If(is_far, a, one), If(is_far, b, 1.0), If(is_far, p, zero),
                                   If(is_far, z, 100.0), is_precise);
  // Half of the exponential, so that it does not overflow before the result does.
  const Located half = Exp(If(is_low, 0.0, 0.5 * z));
  const Located y = If(is_far, half * far * half, If(is_low, Exp(x) * near, near));
  const Located special = If(given == 0, 1.0, If(b == 0, kUnbounded, Exp(x)));
  return If((given == 0) | (b == 0) | (given == b), special, y);
}

Locateds SlopesOfConfluent(const Locateds& xs, const Located&) {
  const Located &a = xs[0], &b = xs[1], &x = xs[2];
  Series by_a = Series1f1(a, b, x), by_b = by_a;
  by_a.slope = [=](const Located& k) { return x / (b + k) / (k + 1.0); };
  by_b.slope = [=](const Located& k) { return -(a + k) / Square(b + k) * x / (k + 1.0); };
  return {Sum(x, by_a), Sum(x, by_b), a / b * Confluent({a + 1.0, b + 1.0, x}, false)};
}

// ---- hyp2f1 ----

Series Series2f1(const Located& a, const Located& b, const Located& c, const Located& x) {
  return {.ratio = [=](const Located& k) { return (a + k) * (b + k) / (c + k) / (k + 1.0) * x; }};
}

Located IsNearWhole(const Located& x) {
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
  const Located is_finite = ((a <= 0) & IsNearWhole(a)) | ((b <= 0) & IsNearWhole(b));
  // Pfaff's transformation maps x < 0 to between 0 and 1; c - b or c - a becomes a parameter.
  const Located maps = (x < 0) & (!is_finite), of_b = maps & (c - a > c - b);
  const Located p = If(of_b, c - a, a), q = If(maps & (!of_b), c - b, b);
  const Located z = If(maps, x / (x - 1.0), x);
  const Located scale = If(maps, PowerOf(1.0 - If(maps, x, 0.0), -If(of_b, b, a)), 1.0);
  const Located is_near = (!is_finite) & (z > 0.9) & IsNearWhole(c - p - q);
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
  const Located is_euler = (d <= -1) & (IsNearWhole(d) | (s >= 0));
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
  return WideFormula(
      {"hyp1f1", loc}, {{"a", a}, {"b", b}, {"x", x}}, [](const Locateds& xs, DType dtype) {
        const auto f = [dtype](const Locateds& xs) { return Confluent(xs, dtype == f64); };
        return WithSlopes(xs, f, SlopesOfConfluent);
      });
}
Array hyp2f1(Operand a, Operand b, Operand c, Operand x, Loc loc) {
  return WideFormula({"hyp2f1", loc}, {{"a", a}, {"b", b}, {"c", c}, {"x", x}},
                     [](const Locateds& xs) { return WithSlopes(xs, Gauss, SlopesOfGauss); });
}

}  // namespace tessera

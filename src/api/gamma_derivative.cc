// How a number of the gamma distribution changes with its shape parameter, the probability of a
// smaller one being the same (implicit reparameterisation): dx/da = -(dP(a, x)/da) / p(x), where P
// is the regularized incomplete gamma function and p the density.
#include "api/random.h"
#include "base/at.h"
#include "tessera/batching.h"
#include "tessera/control.h"
#include "tessera/custom_rules.h"

namespace tessera::api {
namespace {

// An array in a formula, with the line of the call.
struct Term {
  Array x;
  Loc loc;
  Term Of(double v) const {
    return {ScalarOf(v, TypeOf(x)->dtype(), false, {"random::gamma", loc}), loc};
  }
  friend Term operator+(const Term& a, const Term& b) { return {add(a.x, b.x, {}, a.loc), a.loc}; }
  friend Term operator-(const Term& a, const Term& b) { return {sub(a.x, b.x, {}, a.loc), a.loc}; }
  friend Term operator*(const Term& a, const Term& b) { return {mul(a.x, b.x, {}, a.loc), a.loc}; }
  friend Term operator/(const Term& a, const Term& b) { return {div(a.x, b.x, {}, a.loc), a.loc}; }
  friend Term operator-(const Term& a) { return {neg(a.x, a.loc), a.loc}; }
};
Term Size(const Term& a) { return {abs(a.x, a.loc), a.loc}; }
Term Choose(const Array& first, const Term& a, const Term& b) {
  return {where(first, a.x, b.x, {}, a.loc), a.loc};
}

double Epsilon(DType t) { return t == f64 ? 0x1p-52 : 0x1p-23; }

// P(a, x) = x^a e^-x / gamma(a+1) * (sum over n of x^n / ((a+1) ... (a+n))), for x that are not
// much larger than a. Each term c comes with its derivative.
Array BySeries(const Term& a, const Term& x) {
  using State = std::array<Array, 6>;  // whether there is more, a + n, c, dc, sums of these
  const Loc loc = a.loc;
  const auto more = [](State s) { return s[0]; };
  const auto next = [&](State s) {
    const Term last{s[2], loc}, last_d{s[3], loc}, r = Term{s[1], loc} + a.Of(1);
    const Term d = last_d * (x / r) - last * x / (r * r), c = last * (x / r);
    const Term sum = Term{s[4], loc} + c, sum_d = Term{s[5], loc} + d;
    const Array goes_on = gt(Size(d / sum_d).x, a.Of(Epsilon(TypeOf(a.x)->dtype())).x, {}, loc);
    return State{goes_on, r.x, c.x, d.x, sum.x, sum_d.x};
  };
  const Array zero = a.Of(0).x, one = a.Of(1).x;
  const State s =
      while_loop(more, next, State{eq(one, one, {}, loc), a.x, one, zero, one, zero}, loc);
  const Term sum{s[4], loc}, sum_d{s[5], loc};
  const Term d_log = Term{log(x.x, loc), loc} - Term{digamma((a + a.Of(1)).x, loc), loc};
  return (-(sum_d + sum * d_log) * x / a).x;
}

// 1 - P(a, x) = x^a e^-x / gamma(a) times a continued fraction, for larger x. Numerators p and
// denominators q of two steps, and their derivatives.
Array ByFraction(const Term& a, const Term& x) {
  enum { kMore, kStep, kP1, kQ1, kP2, kQ2, kDp1, kDq1, kDp2, kDq2, kValue, kD, kSize };
  using State = std::array<Array, kSize>;
  constexpr double kMostSteps = 2000;
  const Loc loc = a.loc;
  const double epsilon = Epsilon(TypeOf(a.x)->dtype());
  const auto more = [](State s) { return s[kMore]; };
  const auto next = [&](State s) {
    const auto of = [&](int k) { return Term{base::At(s, k), loc}; };
    const Term c = of(kStep) + a.Of(1), y = a.Of(1) - a + c, z = x + y + c + a.Of(1), yc = y * c;
    const Term p = of(kP1) * z - of(kP2) * yc, q = of(kQ1) * z - of(kQ2) * yc;
    const Term dp = of(kDp1) * z - of(kP1) - of(kDp2) * yc + of(kP2) * c;
    const Term dq = of(kDq1) * z - of(kQ1) - of(kDq2) * yc + of(kQ2) * c;
    const Array exists = ne(q.x, a.Of(0).x, {}, loc);
    const Term value = Choose(exists, p / q, of(kValue));
    const Term d = Choose(exists, (dp - value * dq) / q, of(kD));
    const Array moves = gt(Size(d - of(kD)).x, a.Of(epsilon).x, {}, loc);
    const Array goes_on =
        logical_and(lt(c.x, a.Of(kMostSteps).x, {}, loc),
                    logical_or(moves, logical_not(exists, loc), {}, loc), {}, loc);
    const Array large = gt(Size(p).x, a.Of(1 / epsilon).x, {}, loc);
    const auto scaled = [&](const Term& t) { return Choose(large, t * a.Of(epsilon), t).x; };
    return State{goes_on,         c.x,        scaled(p),  scaled(q),        scaled(of(kP1)),
                 scaled(of(kQ1)), scaled(dp), scaled(dq), scaled(of(kDp1)), scaled(of(kDq1)),
                 value.x,         d.x};
  };
  const Term zero = a.Of(0), one = a.Of(1);
  const Term p = x + one, q = (x + one - a + one) * x, value = p / q, d = value * x / q;
  const State s = while_loop(more, next,
                             State{eq(one.x, one.x, {}, loc), zero.x, p.x, q.x, one.x, x.x, zero.x,
                                   (-x).x, zero.x, zero.x, value.x, d.x},
                             loc);
  const Term d_log = Term{log(x.x, loc), loc} - Term{digamma(a.x, loc), loc};
  return ((Term{s[kD], loc} + Term{s[kValue], loc} * d_log) * x).x;
}

// Of one number. The way that does not count gets what ends at once.
Array OfOne(const Array& shape, const Array& sample, Loc loc) {
  const Term a{shape, loc}, x{sample, loc}, zero = a.Of(0), one = a.Of(1);
  const Array far = logical_and(gt(sample, one.x, {}, loc), gt(sample, shape, {}, loc), {}, loc);
  const Array none = logical_or(far, eq(sample, zero.x, {}, loc), {}, loc);
  const Array series = BySeries(a, Choose(none, one, x));
  const Array fraction = ByFraction(Choose(far, a, one), Choose(far, x, a.Of(100)));
  const Array found = where(far, fraction, series, {}, loc);
  return where(eq(sample, zero.x, {}, loc), zero.x, found, {}, loc);
}

// Of arrays of one shape.
Array GammaDerivative(const Array& shapes, const Array& samples, Loc loc) {
  std::function<Array(Array, Array)> f = [loc](Array a, Array x) { return OfOne(a, x, loc); };
  for (int d = 0; d < TypeOf(samples)->rank(); ++d)
    f = [mapped = vmap(f, {}, loc), loc](Array a, Array x) { return mapped(a, x, loc); };
  return f(shapes, samples);
}

}  // namespace

Array WithGammaDerivative(const Array& samples, const Array& shapes, bool logarithm, Call call) {
  const std::function<Array(Array, Array)> first = [](Array x, Array) { return x; };
  const auto rule = [logarithm, call](std::tuple<Array, Array> values,
                                      std::tuple<Array, Array> tangents) {
    const auto& [x, a] = values;
    const auto& [dx, da] = tangents;
    const Loc loc = call.loc;
    const DType t = TypeOf(x)->dtype(), computed = t.size() < 4 ? f32 : t;
    Array number = Convert(x, computed, call);
    if (logarithm) {  // whose number may be too small for the dtype
      const double tiny = computed == f64 ? 0x1p-1022 : 0x1p-126;
      number = maximum(exp(number, loc), ScalarOf(tiny, computed, false, call), {}, loc);
    }
    Array slope = GammaDerivative(Convert(a, computed, call), number, loc);
    if (logarithm) slope = div(slope, number, {}, loc);
    return std::pair(x, add(dx, mul(Convert(slope, t, call), da, {}, loc), {}, loc));
  };
  return custom_jvp(first, rule, call.loc)(samples, shapes, call.loc);
}

}  // namespace tessera::api

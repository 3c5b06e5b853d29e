// Samples the binomial distribution by sums of waiting times or by rejection.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "base/dtype.h"
#include "tessera/control.h"
#include "tessera/random.h"

namespace tessera {

using namespace api;

namespace {

// Operators and numbers of one dtype for formulas, at the location of the call.
class Formulas {
 public:
  Formulas(DType t, Call call) : number(t, call), loc_(call.loc) {}
  Array Plus(const Array& x, const Array& y) const { return add(x, y, {}, loc_); }
  Array Plus(const Array& x, double y) const { return Plus(x, number(y)); }
  Array Less(const Array& x, const Array& y) const { return sub(x, y, {}, loc_); }
  Array Times(const Array& x, const Array& y) const { return mul(x, y, {}, loc_); }
  Array Times(double x, const Array& y) const { return Times(number(x), y); }
  Array Over(const Array& x, const Array& y) const { return div(x, y, {}, loc_); }
  Array Log(const Array& x) const { return log(x, loc_); }
  Array Either(const Array& x, const Array& y) const { return logical_or(x, y, {}, loc_); }
  Array Both(const Array& x, const Array& y) const { return logical_and(x, y, {}, loc_); }
  Array If(const Array& p, const Array& x, const Array& y) const {
    return where(p, x, y, {}, loc_);
  }
  const NumbersOf number;

 private:
  Loc loc_;
};

// Samples by counting how many waiting times for a success fit into the trials. Each waiting time
// is at least one trial.
Array ByWaiting(const Array& key, const DrawnAs& as, const Array& trials, const Array& p,
                Call call) {
  const Loc loc = call.loc;
  const Formulas f(as.dtype, call);
  const Array failure = log1p(neg(p, loc), loc);
  using State = std::tuple<Array, Array, Array>;  // key, count, trials so far
  const auto fits = [&](const State& s) { return le(std::get<2>(s), trials, {}, loc); };
  const auto more = [&](State s) { return any(fits(s), All, {}, loc); };
  const auto next = [&](State s) {
    const std::vector<Array> keys = SplitApart(std::get<0>(s), 2, call);
    const Array& count = std::get<1>(s);
    const Array wait = ceil(f.Over(f.Log(Uniform(keys[0], as, 0, 1, call)), failure), loc);
    return State(keys[1], f.If(fits(s), f.Plus(count, 1), count), f.Plus(std::get<2>(s), wait));
  };
  const Array zero = zeros_like(trials, {}, loc);
  return f.Plus(std::get<1>(while_loop(more, next, State(key, zero, zero), loc)), -1);
}

// Returns the error of Stirling's formula for log(k!): a table for small k, and a series
// for others.
Array StirlingTail(const Array& x, const Formulas& f, Call call) {
  constexpr std::array kTable = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                 0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                 0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                 0.00833056343336287};
  const Loc loc = call.loc;
  const double last = kTable.size() - 1;
  const Array k = clamp(f.number(0), x, f.number(last), loc), k1 = f.Plus(k, 1);
  const Array square = f.Times(k1, k1);
  const Array inner = f.Less(f.number(1.0 / 360), f.Over(f.number(1.0 / 1260), square));
  Array tail = f.Over(f.Less(f.number(1.0 / 12), f.Over(inner, square)), k1);
  const Array whole = floor(k, loc);
  Array tabled = f.number(kTable.back());
  for (size_t i = kTable.size() - 1; i-- > 0;)
    tabled =
        f.If(eq(whole, f.number(static_cast<double>(i)), {}, loc), f.number(kTable[i]), tabled);
  return f.If(le(x, f.number(last), {}, loc), tabled, tail);
}

// The constants of the rejection algorithm for one count and one probability.
struct Btrs {
  Array n = {}, a = {}, b = {}, c = {}, v_r = {}, r = {}, alpha = {}, m = {};
};

// Returns the logarithm of the ratio of the densities at k and at the mode.
Array LogDensity(const Btrs& t, const Array& k, const Formulas& f, Call call) {
  const Array rest_m = f.Less(t.n, t.m), rest_k = f.Less(t.n, k), m1 = f.Plus(t.m, 1);
  const Array left_m = f.Plus(rest_m, 1), left_k = f.Plus(rest_k, 1);
  Array sum = f.Times(f.Plus(t.m, 0.5), f.Log(f.Over(m1, f.Times(t.r, left_m))));
  sum = f.Plus(sum, f.Times(f.Plus(t.n, 1), f.Log(f.Over(left_m, left_k))));
  const Array ratio = f.Over(f.Times(t.r, left_k), f.Plus(k, 1));
  sum = f.Plus(sum, f.Times(f.Plus(k, 0.5), f.Log(ratio)));
  sum = f.Plus(sum, StirlingTail(t.m, f, call));
  sum = f.Plus(sum, StirlingTail(rest_m, f, call));
  sum = f.Less(sum, StirlingTail(k, f, call));
  return f.Less(sum, StirlingTail(rest_k, f, call));
}

// Samples by transformed rejection with a squeeze (Hörmann, "The generation of binomial random
// variates", 1993), for a mean of at least 10 and p of at most 1/2.
Array ByRejection(const Array& key, const DrawnAs& as, const Array& n, const Array& p, Call call) {
  const Loc loc = call.loc;
  const Formulas f(as.dtype, call);
  const Array mean = f.Times(n, p), q = f.Less(f.number(1), p);
  const Array deviation = sqrt(f.Times(mean, q), loc);
  Btrs t{.n = n};
  t.b = f.Plus(f.Times(2.53, deviation), 1.15);
  t.a = f.Plus(f.Plus(f.Times(0.0248, t.b), -0.0873), f.Times(0.01, p));
  t.c = f.Plus(mean, 0.5);
  t.v_r = f.Less(f.number(0.92), f.Over(f.number(4.2), t.b));
  t.r = f.Over(p, q);
  t.alpha = f.Times(f.Plus(f.Over(f.number(5.1), t.b), 2.83), deviation);
  t.m = floor(f.Times(f.Plus(n, 1), p), loc);
  using State = std::tuple<Array, Array, Array>;  // key, count, whether it is accepted
  const auto more = [&](State s) { return any(logical_not(std::get<2>(s), loc), All, {}, loc); };
  const auto next = [&](State s) {
    const auto& [now, count, done] = s;
    const std::vector<Array> keys = SplitApart(now, 3, call);
    const Array u = f.Plus(Uniform(keys[1], as, 0, 1, call), -0.5);
    const Array v = Uniform(keys[2], as, 0, 1, call);
    const Array near = f.Less(f.number(0.5), abs(u, loc));
    const Array inside = f.Both(ge(near, f.number(0.07), {}, loc), le(v, t.v_r, {}, loc));
    const Array slope = f.Plus(f.Over(f.Times(2, t.a), near), t.b);
    const Array k = floor(f.Plus(f.Times(slope, u), t.c), loc);
    const Array outside = f.Either(lt(k, f.number(0), {}, loc), gt(k, t.n, {}, loc));
    const Array below = f.Plus(f.Over(t.a, f.Times(near, near)), t.b);
    const Array height = f.Log(f.Over(f.Times(v, t.alpha), below));
    const Array under = le(height, LogDensity(t, k, f, call), {}, loc);
    const Array accept = f.Either(inside, f.Both(logical_not(outside, loc), under));
    return State(keys[0], f.If(accept, k, count), f.Either(done, accept));
  };
  const Array least = full_like(p, Operand(-1, loc), {}, loc);
  const Array none = zeros_like(p, {.dtype = bool_}, loc);
  return std::get<1>(while_loop(more, next, State(key, least, none), loc));
}

// Computes both algorithms, because elements need different ones, and selects. Each gets harmless
// parameters for elements of the other one. For p > 1/2 it samples the number of failures.
Array BinomialOf(const Array& key, const DrawnAs& as, const Operand& count, const Operand& p,
                 Call call) {
  const Loc loc = call.loc;
  const Formulas f(as.dtype, call);
  const double inf = std::numeric_limits<double>::infinity();
  const Array given = stop_gradient(BroadcastParameter(count, as, call), loc);
  const Array likely = stop_gradient(BroadcastParameter(p, as, call), loc);
  const Array rare = lt(likely, f.number(0.5), {}, loc);
  const Array smaller = f.If(rare, likely, f.Less(f.number(1), likely));
  const Array no_count = f.Either(isnan(given, loc), lt(given, f.number(0), {}, loc));
  const Array endless = isinf(given, loc), no_number = isnan(smaller, loc);
  const Array negative = lt(smaller, f.number(0), {}, loc);
  const Array q = f.If(f.Either(no_number, negative), f.number(0.01), smaller);
  const Array few = f.Either(no_count, le(f.Times(given, q), f.number(10), {}, loc));
  const Array n = floor(given, loc);
  const Array waiting = ByWaiting(key, as, f.If(few, n, f.number(0)), q, call);
  const Array rejection =
      ByRejection(key, as, f.If(few, f.number(1e4), n), f.If(few, f.number(0.5), q), call);
  const Array invalid = f.Either(f.Either(negative, no_number), no_count);
  Array drawn = f.If(few, waiting, rejection);
  drawn = f.If(invalid, f.number(std::numeric_limits<double>::quiet_NaN()), drawn);
  drawn = f.If(f.Both(endless, logical_not(invalid, loc)), f.number(inf), drawn);
  const Array as_drawn = f.Either(f.Either(rare, no_count), f.Either(no_number, endless));
  return f.If(as_drawn, drawn, f.Less(n, drawn));
}

}  // namespace

namespace random {

Array binomial(Operand key, Operand n, Operand p, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::binomial", loc};
  const DType t = FloatsOf(shape.dims(), options.dtype, {}, call).dtype;
  std::vector<Operand> operands = WithKey(key, {n, p}, call);
  const DType computed =
      p.scalar() ? base::DefaultFloat() : FloatOf(TypeOf(ToArray(p, call))->dtype());
  const DrawnAs as = FloatsOf(shape.dims(), computed, options.out_sharding, call);
  CheckBroadcasts({n, p}, as.shape, call);
  return DrawnLaidOut(
      operands, t.name(), as, call, [&](const std::vector<Operand>& all, const DrawnAs& inside) {
        return Convert(BinomialOf(all[0].array(), inside, all[1], all[2], call), t, call);
      });
}
Array binomial(Operand key, Operand n, Operand p, Loc loc) {
  const base::Shape shape = BroadcastShape({n, p}, {"random::binomial", loc});
  return binomial(std::move(key), std::move(n), std::move(p), Shape(shape), {}, loc);
}

}  // namespace random
}  // namespace tessera

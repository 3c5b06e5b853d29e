// Samples the Poisson distribution by products of uniform numbers or by rejection.
#include <utility>

#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "tessera/control.h"
#include "tessera/random.h"

namespace tessera {

using namespace api;

namespace {

// Counts uniform numbers while their product stays above e^-rate (Knuth, "The art of computer
// programming", volume 2). The product is a sum of logarithms.
Array PoissonByProducts(const Array& key, const DrawnAs& as, const Array& rate, Call call) {
  const Loc loc = call.loc;
  using State = std::tuple<Array, Array, Array>;  // key, count, logarithm of the product
  const Array end = neg(rate, loc);
  const auto above = [&](const State& s) { return gt(std::get<2>(s), end, {}, loc); };
  const auto more = [&](State s) { return any(above(s), All, {}, loc); };
  const auto next = [&](State s) {
    const auto& [k, count, product] = s;
    const std::vector<Array> keys = SplitApart(k, 2, call);
    const Array one = StrongScalar(1, TypeOf(count)->dtype(), call);
    const Array u = Uniform(keys[1], as, 0, 1, call);
    return State(keys[0], where(above(s), add(count, one, {}, loc), count, {}, loc),
                 add(product, log(u, loc), {}, loc));
  };
  const Array zero = zeros_like(rate, {}, loc);
  return sub(std::get<1>(while_loop(more, next, State(key, zero, zero), loc)),
             StrongScalar(1, f32, call), {}, loc);
}

// Samples by transformed rejection (Hörmann, "The transformed rejection method for generating
// Poisson random variables", 1993), for rates of at least 10.
Array PoissonByRejection(const Array& key, const DrawnAs& as, const Array& rate, Call call) {
  const Loc loc = call.loc;
  const NumbersOf number(as.dtype, call);
  const auto plus = [&](const Array& x, const Array& y) { return add(x, y, {}, loc); };
  const auto times = [&](const Array& x, const Array& y) { return mul(x, y, {}, loc); };
  const auto less = [&](const Array& x, double y) { return sub(x, number(y), {}, loc); };
  const auto over = [&](const Array& x, const Array& y) { return div(x, y, {}, loc); };
  const Array log_rate = log(rate, loc);
  const Array b = plus(number(0.931), times(number(2.53), sqrt(rate, loc)));
  const Array a = plus(number(-0.059), times(number(0.02483), b));
  const Array inverse = plus(number(1.1239), over(number(1.1328), less(b, 3.4)));
  const Array v_r = sub(number(0.9277), over(number(3.6224), less(b, 2)), {}, loc);
  using State = std::tuple<Array, Array, Array>;  // key, count, whether it is accepted
  const auto more = [&](State s) { return any(logical_not(std::get<2>(s), loc), All, {}, loc); };
  const auto next = [&](State s) {
    const auto& [key, count, done] = s;
    const std::vector<Array> keys = SplitApart(key, 3, call);
    const Array u = less(Uniform(keys[1], as, 0, 1, call), 0.5);
    const Array v = Uniform(keys[2], as, 0, 1, call);
    const Array near = sub(number(0.5), abs(u, loc), {}, loc);
    const Array slope = plus(over(times(number(2), a), near), b);
    const Array k = floor(plus(plus(times(slope, u), rate), number(0.43)), loc);
    const Array s_left = log(over(times(v, inverse), plus(over(a, times(near, near)), b)), loc);
    const Array right =
        sub(plus(neg(rate, loc), times(k, log_rate)), lgamma(plus(k, number(1)), loc), {}, loc);
    const Array inside = logical_and(ge(near, number(0.07), {}, loc), le(v, v_r, {}, loc), {}, loc);
    const Array far = logical_and(lt(near, number(0.013), {}, loc), gt(v, near, {}, loc), {}, loc);
    const Array outside = logical_or(lt(k, number(0), {}, loc), far, {}, loc);
    const Array under = logical_and(logical_not(outside, loc), le(s_left, right, {}, loc), {}, loc);
    const Array accept = logical_or(inside, under, {}, loc);
    return State(keys[0], where(accept, k, count, {}, loc), logical_or(done, accept, {}, loc));
  };
  const Array least = full_like(rate, Operand(-1, loc), {}, loc);
  const Array none = zeros_like(rate, {.dtype = bool_}, loc);
  return std::get<1>(while_loop(more, next, State(key, least, none), loc));
}

// Computes both algorithms, because elements need different ones, and selects. Each gets a harmless
// rate for elements of the other one.
Array PoissonOf(const Array& key, DrawnAs as, const Operand& rate, Call call) {
  const Loc loc = call.loc;
  const DType t = std::exchange(as.dtype, f32);
  const NumbersOf number(f32, call);
  const Array lam =
      stop_gradient(BroadcastParameter(rate, as, call), loc);  // counts have no derivative
  const Array small = logical_or(isnan(lam, loc), lt(lam, number(10), {}, loc), {}, loc);
  const Array products = PoissonByProducts(key, as, where(small, lam, number(0), {}, loc), call);
  const Array rejection =
      PoissonByRejection(key, as, where(small, number(1e5), lam, {}, loc), call);
  const Array count = Convert(where(small, products, rejection, {}, loc), t, call);
  return where(eq(lam, number(0), {}, loc), StrongScalar(0, t, call), count, {}, loc);
}

}  // namespace

namespace random {

Array poisson(Operand key, Operand rate, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::poisson", loc};
  const DrawnAs as = IntegersOf(shape.dims(), options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = WithKey(key, {rate}, call);
  CheckBroadcasts({rate}, as.shape, call);
  return DrawnLaidOut(operands, "", as, call,
                      [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                        return PoissonOf(all[0].array(), inside, all[1], call);
                      });
}
Array poisson(Operand key, Operand rate, Loc loc) {
  const base::Shape shape = BroadcastShape({rate}, {"random::poisson", loc});
  return poisson(std::move(key), std::move(rate), Shape(shape), {}, loc);
}

}  // namespace random
}  // namespace tessera

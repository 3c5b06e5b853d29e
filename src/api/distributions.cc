// Draws of distributions that are found by trial: gamma and what is made of it, Poisson.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "api/random.h"
#include "ops/params.h"
#include "tessera/batching.h"
#include "tessera/control.h"

namespace tessera {
namespace {

using api::Call;
using api::DrawnAs;
using api::Parameter;
using api::ScalarOf;
using api::TypeOf;

// Numbers of one dtype in formulas; operators of arrays keep the line of the call.
class Numbers {
 public:
  Numbers(DType t, Call call) : t_(t), call_(call) {}
  Array operator()(double v) const { return ScalarOf(v, t_, false, call_); }

 private:
  DType t_;
  Call call_;
};

// A parameter for each element, laid out as what is drawn.
Array Spread(const Operand& x, const DrawnAs& as, Call call) {
  const Array p = Parameter(x, as.dtype, call);
  if (TypeOf(p)->shape() == as.shape) return p;
  return broadcast_to(p, Shape(as.shape), {.out_sharding = as.out_sharding}, call.loc);
}

// ---- gamma --------------------------------------------------------------------------------------

// A trial: the key of the next one, the square of a normal number, the cube of its linear function,
// a uniform number.
using Trial = std::tuple<Array, Array, Array, Array>;

Trial NextTrial(const Array& key, const Array& c, Call call) {
  const DrawnAs one{{}, TypeOf(c)->dtype()};
  const Numbers number(one.dtype, call);
  const std::vector<Array> keys = api::SplitApart(key, 3, call);
  // Normal numbers until the linear function is positive.
  using Try = std::tuple<Array, Array, Array>;
  const auto negative = [&](Try t) { return le(std::get<2>(t), number(0), {}, call.loc); };
  const auto next = [&](Try t) {
    const std::vector<Array> pair = api::SplitApart(std::get<0>(t), 2, call);
    const Array x = api::Normal(pair[1], one, call);
    return Try(pair[0], x, add(number(1), mul(x, c, {}, call.loc), {}, call.loc));
  };
  const Try found = while_loop(negative, next, Try(keys[1], number(0), number(-1)), call.loc);
  const Array &x = std::get<1>(found), &v = std::get<2>(found);
  return {keys[0], mul(x, x, {}, call.loc), mul(mul(v, v, {}, call.loc), v, {}, call.loc),
          api::Uniform(keys[2], one, 0, 1, call)};
}

// One number, by Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. For
// a < 1 it is one of a + 1 times a power of a uniform number.
Array GammaOne(const Array& key, const Array& a, bool logarithm, Call call) {
  const Loc loc = call.loc;
  const DrawnAs one{{}, TypeOf(a)->dtype()};
  const Numbers number(one.dtype, call);
  const Array large = ge(a, number(1), {}, loc);
  const Array raised = where(large, a, add(a, number(1), {}, loc), {}, loc);
  const Array third = number(1.0 / 3), d = sub(raised, third, {}, loc);
  const Array c = div(third, sqrt(d, loc), {}, loc);
  const auto rejected = [&](Trial t) {
    const auto& [k, x, v, u] = t;
    const Array squeeze = sub(number(1), mul(number(0.0331), mul(x, x, {}, loc), {}, loc), {}, loc);
    const Array bent = add(sub(number(1), v, {}, loc), log(v, loc), {}, loc);
    const Array bound = add(mul(x, number(0.5), {}, loc), mul(d, bent, {}, loc), {}, loc);
    return logical_and(ge(u, squeeze, {}, loc), ge(log(u, loc), bound, {}, loc), {}, loc);
  };
  const auto next = [&](Trial t) { return NextTrial(std::get<0>(t), c, call); };
  const std::vector<Array> keys = api::SplitApart(key, 2, call);
  const Trial start(keys[0], number(0), number(1), number(2));  // is rejected
  const Array v = std::get<2>(while_loop(rejected, next, start, loc));
  const Array power = div(number(1), a, {}, loc), u = api::Uniform(keys[1], one, 0, 1, call);
  if (!logarithm) {
    const Array boost = pow(sub(number(1), u, {}, loc), power, {}, loc);
    return mul(mul(d, v, {}, loc), where(large, number(1), boost, {}, loc), {}, loc);
  }
  const Array e = log1p(neg(u, loc), loc);
  const Array none = logical_or(large, eq(e, number(0), {}, loc), {}, loc);
  const Array boost = where(none, number(0), mul(e, power, {}, loc), {}, loc);
  return add(add(log(d, loc), log(v, loc), {}, loc), boost, {}, loc);
}

// Each element from a key of its own.
Array GammaOf(const Array& key, const DrawnAs& as, const Operand& a, bool logarithm, Call call) {
  const Array shapes = Spread(a, as, call);
  if (TypeOf(shapes)->elements() == 0) return shapes;
  std::function<Array(Array, Array)> draw = [=](Array k, Array x) {
    return GammaOne(k, x, logarithm, call);
  };
  for (size_t d = 0; d < as.shape.size(); ++d)
    draw = [mapped = vmap(draw, {}, call.loc), call](Array k, Array x) {
      return mapped(k, x, call.loc);
    };
  const Array samples = draw(api::SplitKey(key, as, call), stop_gradient(shapes, call.loc));
  return api::WithGammaDerivative(samples, shapes, logarithm, call);
}

// Without a shape, JAX replicates such a draw where all axes are Explicit.
CreateOptions WithoutShape(const Operand& a, Call call) {
  std::vector<Array> arrays;
  if (!a.scalar()) arrays.push_back(api::ToArray(a, call));
  const sharding::MeshDef* mesh = api::MeshInScope(arrays);
  if (!mesh) return {};
  for (const auto& axis : mesh->axes())
    if (axis.mode != AxisMode::Explicit) return {};
  return {.out_sharding = PartitionSpec()};
}

Array DrawGamma(const Operand& key, const Operand& a, const base::Shape& shape,
                const CreateOptions& options, bool logarithm, Call call) {
  const DrawnAs as = api::FloatsOf(shape, options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = api::WithKey(key, {a}, call);
  api::CheckBroadcasts({a}, as.shape, call);
  return api::DrawnLaidOut(operands, "", as, call,
                           [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                             return GammaOf(all[0].array(), inside, all[1], logarithm, call);
                           });
}

// The share of one gamma number in the sum of two, of logarithms.
Array BetaOf(const Array& key, const DrawnAs& as, const Operand& a, const Operand& b, Call call) {
  const Loc loc = call.loc;
  const std::vector<Array> keys = api::SplitApart(key, 2, call);
  const Array x = GammaOf(keys[0], as, a, true, call), y = GammaOf(keys[1], as, b, true, call);
  const Array most = maximum(x, y, {}, loc);
  const Array ex = exp(sub(x, most, {}, loc), loc), ey = exp(sub(y, most, {}, loc), loc);
  return div(ex, add(ex, ey, {}, loc), {}, loc);
}

// ---- Poisson ------------------------------------------------------------------------------------

// The number of uniform numbers whose product stays above e^-rate (Knuth, "The art of computer
// programming", volume 2), of sums of logarithms.
Array PoissonByProducts(const Array& key, const DrawnAs& as, const Array& rate, Call call) {
  const Loc loc = call.loc;
  using State = std::tuple<Array, Array, Array>;  // key, count, logarithm of the product
  const Array end = neg(rate, loc);
  const auto above = [&](const State& s) { return gt(std::get<2>(s), end, {}, loc); };
  const auto more = [&](State s) { return any(above(s), All, {}, loc); };
  const auto next = [&](State s) {
    const auto& [k, count, product] = s;
    const std::vector<Array> keys = api::SplitApart(k, 2, call);
    const Array one = ScalarOf(1, TypeOf(count)->dtype(), false, call);
    const Array u = api::Uniform(keys[1], as, 0, 1, call);
    return State(keys[0], where(above(s), add(count, one, {}, loc), count, {}, loc),
                 add(product, log(u, loc), {}, loc));
  };
  const Array zero = zeros_like(rate, {}, loc);
  return sub(std::get<1>(while_loop(more, next, State(key, zero, zero), loc)),
             ScalarOf(1, f32, false, call), {}, loc);
}

// Transformed rejection (Hörmann, "The transformed rejection method for generating Poisson random
// variables", 1993), for rates of at least 10.
Array PoissonByRejection(const Array& key, const DrawnAs& as, const Array& rate, Call call) {
  const Loc loc = call.loc;
  const Numbers number(as.dtype, call);
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
    const std::vector<Array> keys = api::SplitApart(key, 3, call);
    const Array u = less(api::Uniform(keys[1], as, 0, 1, call), 0.5);
    const Array v = api::Uniform(keys[2], as, 0, 1, call);
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

// Both ways, as lanes differ in theirs; each sees a harmless rate where it does not count.
Array PoissonOf(const Array& key, DrawnAs as, const Operand& rate, Call call) {
  const Loc loc = call.loc;
  const DType t = std::exchange(as.dtype, f32);
  const Numbers number(f32, call);
  const Array lam = stop_gradient(Spread(rate, as, call), loc);  // counts have no derivative
  const Array small = logical_or(isnan(lam, loc), lt(lam, number(10), {}, loc), {}, loc);
  const Array products = PoissonByProducts(key, as, where(small, lam, number(0), {}, loc), call);
  const Array rejection =
      PoissonByRejection(key, as, where(small, number(1e5), lam, {}, loc), call);
  const Array count = api::Convert(where(small, products, rejection, {}, loc), t, call);
  return where(eq(lam, number(0), {}, loc), ScalarOf(0, t, false, call), count, {}, loc);
}

}  // namespace

namespace random {

Array gamma(Operand key, Operand a, Shape shape, CreateOptions options, Loc loc) {
  return DrawGamma(key, a, shape.dims(), options, false, {"random::gamma", loc});
}
Array gamma(Operand key, Operand a, Loc loc) {
  const Call call{"random::gamma", loc};
  return DrawGamma(key, a, api::BroadcastShape({a}, call), WithoutShape(a, call), false, call);
}
Array loggamma(Operand key, Operand a, Shape shape, CreateOptions options, Loc loc) {
  return DrawGamma(key, a, shape.dims(), options, true, {"random::loggamma", loc});
}
Array loggamma(Operand key, Operand a, Loc loc) {
  const Call call{"random::loggamma", loc};
  return DrawGamma(key, a, api::BroadcastShape({a}, call), WithoutShape(a, call), true, call);
}

Array beta(Operand key, Operand a, Operand b, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::beta", loc};
  const DrawnAs as = api::FloatsOf(shape.dims(), options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = api::WithKey(key, {a, b}, call);
  api::CheckBroadcasts({a, b}, as.shape, call);
  return api::DrawnLaidOut(operands, "", as, call,
                           [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                             return BetaOf(all[0].array(), inside, all[1], all[2], call);
                           });
}
Array beta(Operand key, Operand a, Operand b, Loc loc) {
  const base::Shape shape = api::BroadcastShape({a, b}, {"random::beta", loc});
  return beta(std::move(key), std::move(a), std::move(b), Shape(shape), {}, loc);
}

Array dirichlet(Operand key, Operand alpha, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::dirichlet", loc};
  const base::Shape own = api::BroadcastShape({alpha}, call);
  if (own.empty()) api::FailShape(call, 16, "it takes the parameters of a vector, not one number");
  base::Shape whole = shape.dims();
  whole.push_back(own.back());
  const DrawnAs as = api::FloatsOf(whole, options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = api::WithKey(key, {alpha}, call);
  api::CheckBroadcasts({alpha}, as.shape, call);
  return api::DrawnLaidOut(
      operands, "", as, call, [&](const std::vector<Operand>& all, const DrawnAs& inside) {
        const Array logarithms = GammaOf(all[0].array(), inside, all[1], true, call);
        return softmax(logarithms, -1, loc);
      });
}
Array dirichlet(Operand key, Operand alpha, Loc loc) {
  const Call call{"random::dirichlet", loc};
  base::Shape shape = api::BroadcastShape({alpha}, call);
  if (!shape.empty()) shape.pop_back();
  CreateOptions options = WithoutShape(alpha, call);
  return dirichlet(std::move(key), std::move(alpha), Shape(shape), std::move(options), loc);
}

Array poisson(Operand key, Operand rate, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::poisson", loc};
  const DrawnAs as = api::IntegersOf(shape.dims(), options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = api::WithKey(key, {rate}, call);
  api::CheckBroadcasts({rate}, as.shape, call);
  return api::DrawnLaidOut(operands, "", as, call,
                           [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                             return PoissonOf(all[0].array(), inside, all[1], call);
                           });
}
Array poisson(Operand key, Operand rate, Loc loc) {
  const base::Shape shape = api::BroadcastShape({rate}, {"random::poisson", loc});
  return poisson(std::move(key), std::move(rate), Shape(shape), {}, loc);
}

}  // namespace random
}  // namespace tessera

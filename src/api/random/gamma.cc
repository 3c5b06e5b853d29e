// Samples the gamma distribution and distributions that are computed from it, with derivatives.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "base/at.h"
#include "base/dtype.h"
#include "tessera/batching.h"
#include "tessera/control.h"
#include "tessera/custom_rules.h"
#include "tessera/random.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

// ---- samples ------------------------------------------------------------------------------------

// Whether samples are numbers or their logarithms.
enum class Scale { kLinear, kLog };

// A trial: the key of the next trial, the square of a normal number x, the cube of the linear
// function 1 + c x, and a uniform number.
using GammaTrial = std::tuple<Array, Array, Array, Array>;

GammaTrial NextTrial(const Array& key, const Array& c, Call call) {
  const DrawnAs one{{}, TypeOf(c)->dtype()};
  const NumbersOf number(one.dtype, call);
  const std::vector<Array> keys = SplitApart(key, 3, call);
  // Samples normal numbers until the linear function is positive.
  using Try = std::tuple<Array, Array, Array>;
  const auto negative = [&](Try t) { return le(std::get<2>(t), number(0), {}, call.loc); };
  const auto next = [&](Try t) {
    const std::vector<Array> pair = SplitApart(std::get<0>(t), 2, call);
    const Array x = Normal(pair[1], one, call);
    return Try(pair[0], x, add(number(1), mul(x, c, {}, call.loc), {}, call.loc));
  };
  const Try found = while_loop(negative, next, Try(keys[1], number(0), number(-1)), call.loc);
  const Array &x = std::get<1>(found), &v = std::get<2>(found);
  return {keys[0], mul(x, x, {}, call.loc), mul(mul(v, v, {}, call.loc), v, {}, call.loc),
          Uniform(keys[2], one, 0, 1, call)};
}

// Samples one number (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000).
// For a < 1 it is a sample for a + 1, times a power of a uniform number.
Array GammaOne(const Array& key, const Array& a, Scale scale, Call call) {
  const Loc loc = call.loc;
  const DrawnAs one{{}, TypeOf(a)->dtype()};
  const NumbersOf number(one.dtype, call);
  const Array large = ge(a, number(1), {}, loc);
  const Array raised = where(large, a, add(a, number(1), {}, loc), {}, loc);
  const Array third = number(1.0 / 3), d = sub(raised, third, {}, loc);
  const Array c = div(third, sqrt(d, loc), {}, loc);
  const auto rejected = [&](GammaTrial t) {
    const auto& [k, x, v, u] = t;
    const Array squeeze = sub(number(1), mul(number(0.0331), mul(x, x, {}, loc), {}, loc), {}, loc);
    const Array bent = add(sub(number(1), v, {}, loc), log(v, loc), {}, loc);
    const Array bound = add(mul(x, number(0.5), {}, loc), mul(d, bent, {}, loc), {}, loc);
    return logical_and(ge(u, squeeze, {}, loc), ge(log(u, loc), bound, {}, loc), {}, loc);
  };
  const auto next = [&](GammaTrial t) { return NextTrial(std::get<0>(t), c, call); };
  const std::vector<Array> keys = SplitApart(key, 2, call);
  const GammaTrial start(keys[0], number(0), number(1), number(2));  // always rejected
  const Array v = std::get<2>(while_loop(rejected, next, start, loc));
  const Array power = div(number(1), a, {}, loc), u = Uniform(keys[1], one, 0, 1, call);
  if (scale == Scale::kLinear) {
    const Array boost = pow(sub(number(1), u, {}, loc), power, {}, loc);
    return mul(mul(d, v, {}, loc), where(large, number(1), boost, {}, loc), {}, loc);
  }
  const Array e = log1p(neg(u, loc), loc);
  const Array none = logical_or(large, eq(e, number(0), {}, loc), {}, loc);
  const Array boost = where(none, number(0), mul(e, power, {}, loc), {}, loc);
  return add(add(log(d, loc), log(v, loc), {}, loc), boost, {}, loc);
}

// ---- derivative ---------------------------------------------------------------------------------

// Returns the samples with a derivative in their shape parameters, which keeps the value of their
// distribution function (implicit reparameterisation).
Array WithGammaDerivative(const Array& samples, const Array& shapes, Scale scale, Call call) {
  const std::function<Array(Array, Array)> first = [](Array x, Array) { return x; };
  const auto rule = [scale, call](std::tuple<Array, Array> values,
                                  std::tuple<Array, Array> tangents) {
    const auto& [x, a] = values;
    const auto& [dx, da] = tangents;
    const Loc loc = call.loc;
    const DType t = TypeOf(x)->dtype(), computed = t.size() < 4 ? f32 : t;
    Array number = Convert(x, computed, call);
    if (scale == Scale::kLog) {  // the sample itself may be too small for the dtype
      const double tiny = computed == f64 ? 0x1p-1022 : 0x1p-126;
      number = maximum(exp(number, loc), StrongScalar(tiny, computed, call), {}, loc);
    }
    Array slope = random_gamma_grad(Convert(a, computed, call), number, {}, loc);
    if (scale == Scale::kLog) slope = div(slope, number, {}, loc);
    return std::pair(x, add(dx, mul(Convert(slope, t, call), da, {}, loc), {}, loc));
  };
  return custom_jvp(first, rule, call.loc)(samples, shapes, call.loc);
}

// ---- draws --------------------------------------------------------------------------------------

// Samples each element with its own key.
Array GammaOf(const Array& key, const DrawnAs& as, const Operand& a, Scale scale, Call call) {
  const Array shapes = BroadcastParameter(a, as, call);
  if (TypeOf(shapes)->elements() == 0) return shapes;
  std::function<Array(Array, Array)> draw = [=](Array k, Array x) {
    return GammaOne(k, x, scale, call);
  };
  for (size_t d = 0; d < as.shape.size(); ++d)
    draw = [mapped = vmap(draw, {}, call.loc), call](Array k, Array x) {
      return mapped(k, x, call.loc);
    };
  const Array samples = draw(SplitKey(key, as, call), stop_gradient(shapes, call.loc));
  return WithGammaDerivative(samples, shapes, scale, call);
}

// Returns options that replicate a sample without a given shape if all axes are Explicit, as
// in JAX.
CreateOptions WithoutShape(const Operand& a, Call call) {
  std::vector<Array> arrays;
  if (!a.scalar()) arrays.push_back(ToArray(a, call));
  const sharding::MeshDef* mesh = MeshInScope(arrays);
  if (!mesh) return {};
  for (const auto& axis : mesh->axes())
    if (axis.mode != AxisMode::Explicit) return {};
  return {.out_sharding = PartitionSpec()};
}

Array DrawGamma(const Operand& key, const Operand& a, const base::Shape& shape,
                const CreateOptions& options, Scale scale, Call call) {
  return DrawnFloats(key, {a}, shape, options, call,
                     [&](const std::vector<Operand>& all, const DrawnAs& as) {
                       return GammaOf(all[0].array(), as, all[1], scale, call);
                     });
}

// Computes x / (x + y) from the logarithms of two gamma samples.
Array BetaOf(const Array& key, const DrawnAs& as, const Operand& a, const Operand& b, Call call) {
  const Loc loc = call.loc;
  const std::vector<Array> keys = SplitApart(key, 2, call);
  const Array x = GammaOf(keys[0], as, a, Scale::kLog, call),
              y = GammaOf(keys[1], as, b, Scale::kLog, call);
  const Array most = maximum(x, y, {}, loc);
  const Array ex = exp(sub(x, most, {}, loc), loc), ey = exp(sub(y, most, {}, loc), loc);
  return div(ex, add(ex, ey, {}, loc), {}, loc);
}

// Returns twice a gamma sample with half the degrees of freedom.
Array ChiSquareOf(const Array& key, const DrawnAs& as, const Operand& df, Call call) {
  const NumbersOf number(as.dtype, call);
  const Array half = div(Parameter(df, as.dtype, call), number(2), {}, call.loc);
  const Array logarithms = GammaOf(key, as, half, Scale::kLog, call);
  return mul(exp(logarithms, call.loc), number(2), {}, call.loc);
}

// Returns a normal sample divided by sqrt(c / df), where c is a chi-square sample.
Array StudentOf(const Array& key, const DrawnAs& as, const Operand& df, Call call) {
  const Loc loc = call.loc;
  const NumbersOf number(as.dtype, call);
  const std::vector<Array> keys = SplitApart(key, 2, call);
  const Array half = div(Parameter(df, as.dtype, call), number(2), {}, loc);
  const Array g = GammaOf(keys[1], as, half, Scale::kLinear, call);
  return mul(Normal(keys[0], as, call), sqrt(div(half, g, {}, loc), loc), {}, loc);
}

// Samples vectors g with density e^(-|x|^p), and divides them by (sum |g|^p + e)^(1/p), where e is
// an exponential sample (Barthe et al., "A probabilistic approach to the geometry of the
// l_p^n-ball", 2005).
Array BallOf(const Array& key, const DrawnAs& as, double p, Call call) {
  const Loc loc = call.loc;
  const NumbersOf number(as.dtype, call);
  const std::vector<Array> keys = SplitApart(key, 2, call), of_one = SplitApart(keys[0], 2, call);
  const Array size = pow(GammaOf(of_one[0], as, Operand(1 / p, loc), Scale::kLinear, call),
                         number(1 / p), {}, loc);
  DrawnAs coin = as;
  coin.dtype = base::DefaultFloat();
  const Array heads =
      lt(Uniform(of_one[1], coin, 0, 1, call), StrongScalar(0.5, coin.dtype, call), {}, loc);
  const Array g = mul(where(heads, number(1), number(-1), {}, loc), size, {}, loc);
  DrawnAs of_vector = as;
  of_vector.shape.pop_back();
  if (as.out_sharding) {
    std::vector<DimSharding> dims = as.out_sharding->dims();
    dims.resize(of_vector.shape.size());
    of_vector.out_sharding = PartitionSpec(std::move(dims));
  }
  const Array powers = sum(pow(abs(g, loc), number(p), {}, loc), -1, {}, loc);
  const Array whole = add(powers, Exponential(keys[1], of_vector, call), {}, loc);
  const Array norm = pow(whole, number(1 / p), {}, loc);
  return div(g, expand_dims(norm, -1, loc), {}, loc);
}

using ParameterSampler = Array (*)(const Array& key, const DrawnAs& as, const Operand& parameter,
                                   Call call);

Array DrawWithParameter(const Operand& key, const Operand& parameter, const base::Shape& shape,
                        const CreateOptions& options, ParameterSampler sampler, Call call) {
  return DrawnFloats(key, {parameter}, shape, options, call,
                     [&](const std::vector<Operand>& all, const DrawnAs& as) {
                       return sampler(all[0].array(), as, all[1], call);
                     });
}

}  // namespace

namespace random {

Array chisquare(Operand key, Operand df, Shape shape, CreateOptions options, Loc loc) {
  return DrawWithParameter(key, df, shape.dims(), options, ChiSquareOf, {"random::chisquare", loc});
}
Array chisquare(Operand key, Operand df, Loc loc) {
  const Call call{"random::chisquare", loc};
  return DrawWithParameter(key, df, BroadcastShape({df}, call), {}, ChiSquareOf, call);
}
Array t(Operand key, Operand df, Shape shape, CreateOptions options, Loc loc) {
  return DrawWithParameter(key, df, shape.dims(), options, StudentOf, {"random::t", loc});
}
Array t(Operand key, Operand df, Loc loc) {
  const Call call{"random::t", loc};
  return DrawWithParameter(key, df, BroadcastShape({df}, call), {}, StudentOf, call);
}

Array ball(Operand key, int64_t d, Shape shape, BallOptions options, Loc loc) {
  const Call call{"random::ball", loc};
  const Array k = KeyOf(key, call);
  if (d < 0) FailShape(call, 17, fmt::format("a ball has 0 dims or more, not {}", d));
  if (!(options.p > 0) || std::isinf(options.p))
    FailShape(call, 18, "p must be positive and finite");
  base::Shape whole = shape.dims();
  whole.push_back(d);
  const DrawnAs as = FloatsOf(whole, options.dtype, options.out_sharding, call);
  return DrawnLaidOut({Operand(k, key.loc())}, fmt::format("{:a} ", options.p), as, call,
                      [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                        return BallOf(all[0].array(), inside, options.p, call);
                      });
}

Array gamma(Operand key, Operand a, Shape shape, CreateOptions options, Loc loc) {
  return DrawGamma(key, a, shape.dims(), options, Scale::kLinear, {"random::gamma", loc});
}
Array gamma(Operand key, Operand a, Loc loc) {
  const Call call{"random::gamma", loc};
  return DrawGamma(key, a, BroadcastShape({a}, call), WithoutShape(a, call), Scale::kLinear, call);
}
Array loggamma(Operand key, Operand a, Shape shape, CreateOptions options, Loc loc) {
  return DrawGamma(key, a, shape.dims(), options, Scale::kLog, {"random::loggamma", loc});
}
Array loggamma(Operand key, Operand a, Loc loc) {
  const Call call{"random::loggamma", loc};
  return DrawGamma(key, a, BroadcastShape({a}, call), WithoutShape(a, call), Scale::kLog, call);
}

Array beta(Operand key, Operand a, Operand b, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::beta", loc};
  return DrawnFloats(key, {a, b}, shape.dims(), options, call,
                     [&](const std::vector<Operand>& all, const DrawnAs& as) {
                       return BetaOf(all[0].array(), as, all[1], all[2], call);
                     });
}
Array beta(Operand key, Operand a, Operand b, Loc loc) {
  const base::Shape shape = BroadcastShape({a, b}, {"random::beta", loc});
  return beta(std::move(key), std::move(a), std::move(b), Shape(shape), {}, loc);
}

Array dirichlet(Operand key, Operand alpha, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::dirichlet", loc};
  const base::Shape own = BroadcastShape({alpha}, call);
  if (own.empty()) FailShape(call, 16, "it takes the parameters of a vector, not one number");
  base::Shape whole = shape.dims();
  whole.push_back(own.back());
  const DrawnAs as = FloatsOf(whole, options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = WithKey(key, {alpha}, call);
  CheckBroadcasts({alpha}, as.shape, call);
  return DrawnLaidOut(
      operands, "", as, call, [&](const std::vector<Operand>& all, const DrawnAs& inside) {
        const Array logarithms = GammaOf(all[0].array(), inside, all[1], Scale::kLog, call);
        return softmax(logarithms, -1, loc);
      });
}
Array dirichlet(Operand key, Operand alpha, Loc loc) {
  const Call call{"random::dirichlet", loc};
  base::Shape shape = BroadcastShape({alpha}, call);
  if (!shape.empty()) shape.pop_back();
  CreateOptions options = WithoutShape(alpha, call);
  return dirichlet(std::move(key), std::move(alpha), Shape(shape), std::move(options), loc);
}

}  // namespace random
}  // namespace tessera

// Samples integers and distributions with parameters.
#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "api/random/random_integers.h"
#include "base/dtype.h"
#include "tessera/random.h"

namespace tessera {

using namespace api;

namespace {

Array BernoulliOf(const Array& key, const DrawnAs& as, const Operand& p, Call call) {
  return lt(Uniform(key, as, 0, 1, call), Parameter(p, as.dtype, call), {}, call.loc);
}

// Samples erf_inv of a uniform number between the erf of the bounds.
Array TruncatedNormal(const Array& key, const DrawnAs& as, const Operand& lower,
                      const Operand& upper, Call call) {
  const Loc loc = call.loc;
  const DType t = as.dtype;
  const auto number = [&](double v) { return StrongScalar(v, t, call); };
  const Array root = number(std::numbers::sqrt2), lo = Parameter(lower, t, call),
              hi = Parameter(upper, t, call);
  const Array a = erf(div(lo, root, {}, loc), loc), b = erf(div(hi, root, {}, loc), loc);
  const std::vector<Array> bounds = PromoteTo(t, {a, b}, call);
  const Array x = mul(root, erf_inv(Uniform(key, as, bounds[0], bounds[1], call), loc), {}, loc);
  const double inf = std::numeric_limits<double>::infinity();
  const Array least = nextafter(stop_gradient(lo, loc), number(inf), {}, loc);
  const Array most = nextafter(stop_gradient(hi, loc), number(-inf), {}, loc);
  return minimum(maximum(x, least, {}, loc), most, {}, loc);
}

// Samples by the inverse of the distribution function.
Array WeibullOf(const Array& key, const DrawnAs& as, const Operand& scale,
                const Operand& concentration, Call call) {
  const Loc loc = call.loc;
  const Array u = Uniform(key, as, 0, 1, call);
  const Array one = StrongScalar(1, as.dtype, call);
  const Array power = concentration.scalar()
                          ? StrongScalar(1 / concentration.scalar()->as_double(), as.dtype, call)
                          : div(one, Parameter(concentration, as.dtype, call), {}, loc);
  const Array standard = pow(neg(log1p(neg(u, loc), loc), loc), power, {}, loc);
  return mul(standard, Parameter(scale, as.dtype, call), {}, loc);
}

// Returns the dtype in which a probability is computed. Throws DTypeError unless it is floating.
DType ProbabilityType(const Operand& p, Call call) {
  const DType t = p.scalar() ? base::DefaultFloat() : TypeOf(ToArray(p, call))->dtype();
  if (!t.is_floating())
    FailDType(call, 16, fmt::format("a probability must be a float, not {}", t.name()));
  return t;
}

// Samples by the inverse of the distribution function. A uniform number of 0 counts as 1.
Array GeometricOf(const Array& key, const DrawnAs& as, const Operand& p, Call call) {
  const Loc loc = call.loc;
  const Array one = StrongScalar(1, as.dtype, call), zero = StrongScalar(0, as.dtype, call);
  const Array drawn = Uniform(key, as, 0, 1, call);
  const Array u = where(eq(drawn, zero, {}, loc), one, drawn, {}, loc);
  const Array success = stop_gradient(Parameter(p, as.dtype, call), loc);  // counts have none
  const Array failure = log1p(neg(success, loc), loc);
  return add(floor(div(log(u, loc), failure, {}, loc), loc), one, {}, loc);
}

}  // namespace

namespace random {

Array weibull_min(Operand key, Operand scale, Operand concentration, Shape shape,
                  CreateOptions options, Loc loc) {
  const Call call{"random::weibull_min", loc};
  return DrawnFloats(key, {scale, concentration}, shape.dims(), options, call,
                     [&](const std::vector<Operand>& all, const DrawnAs& as) {
                       return WeibullOf(all[0].array(), as, all[1], all[2], call);
                     });
}
Array weibull_min(Operand key, Operand scale, Operand concentration, Loc loc) {
  const base::Shape shape = BroadcastShape({scale, concentration}, {"random::weibull_min", loc});
  return weibull_min(std::move(key), std::move(scale), std::move(concentration), Shape(shape), {},
                     loc);
}

Array geometric(Operand key, Operand p, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::geometric", loc};
  const DType t = IntegersOf(shape.dims(), options.dtype, {}, call).dtype;
  std::vector<Operand> operands = WithKey(key, {p}, call);
  const DrawnAs as = FloatsOf(shape.dims(), ProbabilityType(p, call), options.out_sharding, call);
  CheckBroadcasts({p}, as.shape, call);
  return DrawnLaidOut(operands, t.name(), as, call,
                      [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                        return Convert(GeometricOf(all[0].array(), inside, all[1], call), t, call);
                      });
}
Array geometric(Operand key, Operand p, Loc loc) {
  const base::Shape shape = BroadcastShape({p}, {"random::geometric", loc});
  return geometric(std::move(key), std::move(p), Shape(shape), {}, loc);
}

Array randint(Operand key, Shape shape, Operand minval, Operand maxval, CreateOptions options,
              Loc loc) {
  const Call call{"random::randint", loc};
  const DrawnAs as = IntegersOf(shape.dims(), options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = WithKey(key, {minval, maxval}, call);
  CheckBroadcasts({minval, maxval}, as.shape, call);
  return DrawnLaidOut(operands, "", as, call,
                      [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                        return RandomIntegers(all[0].array(), inside, all[1], all[2], call);
                      });
}

Array bernoulli(Operand key, Operand p, Shape shape, OutOptions options, Loc loc) {
  const Call call{"random::bernoulli", loc};
  std::vector<Operand> operands = WithKey(key, {p}, call);
  const DrawnAs as = FloatsOf(shape.dims(), ProbabilityType(p, call), options.out_sharding, call);
  CheckBroadcasts({p}, as.shape, call);
  return DrawnLaidOut(operands, "", as, call,
                      [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                        return BernoulliOf(all[0].array(), inside, all[1], call);
                      });
}
Array bernoulli(Operand key, Operand p, Loc loc) {
  const base::Shape shape = BroadcastShape({p}, {"random::bernoulli", loc});
  return bernoulli(std::move(key), std::move(p), Shape(shape), {}, loc);
}

Array rademacher(Operand key, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::rademacher", loc};
  DType t = options.dtype.is_default() ? base::DefaultInt() : options.dtype;
  if (t.is_bool() || t.is_key() || t.is_unsigned())
    FailDType(call, 16, fmt::format("{} has no -1", t.name()));
  const DrawnAs as = FloatsOf(shape.dims(), base::DefaultFloat(), options.out_sharding, call);
  return DrawnLaidOut(WithKey(key, {}, call), t.name(), as, call,
                      [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                        return where(BernoulliOf(all[0].array(), inside, 0.5, call),
                                     StrongScalar(1, t, call), StrongScalar(-1, t, call), {}, loc);
                      });
}

Array truncated_normal(Operand key, Operand lower, Operand upper, Shape shape,
                       CreateOptions options, Loc loc) {
  const Call call{"random::truncated_normal", loc};
  return DrawnFloats(key, {lower, upper}, shape.dims(), options, call,
                     [&](const std::vector<Operand>& all, const DrawnAs& as) {
                       return TruncatedNormal(all[0].array(), as, all[1], all[2], call);
                     });
}
Array truncated_normal(Operand key, Operand lower, Operand upper, Loc loc) {
  const base::Shape shape = BroadcastShape({lower, upper}, {"random::truncated_normal", loc});
  return truncated_normal(std::move(key), std::move(lower), std::move(upper), Shape(shape), {},
                          loc);
}

}  // namespace random
}  // namespace tessera

// Samples integers and distributions with parameters.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "api/core/located.h"
#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "api/random/random_integers.h"
#include "base/dtype.h"
#include "tessera/random.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

Array BernoulliOf(const Array& key, const DrawnAs& as, const Operand& p, Call call) {
  return lt(Uniform(key, as, 0, 1, call), Parameter(p, as.dtype, call), {}, call.loc);
}

// Bounds from kTail on, on one side of 0, have no digits left in their erf.
constexpr double kTail = 2;

// Returns the number x between kTail <= lo < hi with Q(x) = Q(lo) - u (Q(lo) - Q(hi)), where Q is
// the probability of the tail, by Newton's method for its logarithm.
Located InTail(const Located& u, const Located& lo, const Located& hi) {
  const auto log_tail = [](const Located& v) { return v.With(log_ndtr(-v, v.loc())); };
  const Located top = log_tail(lo), wanted = top + Log1p(-u * -Expm1(log_tail(hi) - top));
  // The first guess is right for a tail e^(-x^2 / 2).
  Located x = Sqrt(Square(lo) - 2.0 * Log1p(-u * -Expm1(0.5 * (lo - hi) * (lo + hi))));
  for (int i = 0; i < 4; ++i) {
    const Located scaled = x.With(erfcx(x * std::sqrt(0.5), x.loc()));
    x = x + (log_tail(x) - wanted) * scaled * std::sqrt(std::numbers::pi / 2);
  }
  return x;
}

// Whether bounds may be in one tail, as far as it is known while tracing.
bool MayBeInTail(const Operand& lower, const Operand& upper) {
  const auto may = [](const Operand& x, double sign) {
    return !x.scalar() || sign * x.scalar()->as_double() >= kTail;
  };
  return may(lower, 1) || may(upper, -1);
}

// Returns a sample where the bounds are in one tail, else x.
Array SampleInTail(const Array& key, const DrawnAs& as, const Array& lower, const Array& upper,
                   const Array& x, Call call) {
  const Located low(Convert(lower, f64, call), call.loc), high(Convert(upper, f64, call), call.loc);
  const Located u(Convert(Uniform(key, as, 0, 1, call), f64, call), call.loc);
  const Located is_up = low >= kTail, is_down = high <= -kTail;
  const Located near = If(is_up, low, If(is_down, -high, kTail)),
                far = If(is_up, high, If(is_down, -low, kTail + 1));
  // Above near + kAll the tail has no digit of the tail at `near`; an infinite bound has no slopes.
  constexpr double kAll = 40;
  const Located most = near + kAll;
  const Located made = InTail(u, near, If(far > most, most, far));
  const Located signed_x = If(is_up, made, -made);
  return where(is_up | is_down, Convert(signed_x, as.dtype, call), x, {}, call.loc);
}

// Samples erf_inv of a uniform number between the erf of the bounds, as JAX does.
Array TruncatedNormal(const Array& key, const DrawnAs& as, const Operand& lower,
                      const Operand& upper, Call call) {
  const Loc loc = call.loc;
  const DType t = as.dtype;
  const auto number = [&](double v) { return StrongScalar(v, t, call); };
  const Array root = number(std::numbers::sqrt2), lo = Parameter(lower, t, call),
              hi = Parameter(upper, t, call);
  Located low(lo, loc), high(hi, loc);
  const bool may_be_in_tail = MayBeInTail(lower, upper);
  if (may_be_in_tail) {
    // In a tail, where the sample is not used, the bounds are others that have finite slopes.
    const Located is_tail = (low >= kTail) | (high <= -kTail);
    low = If(is_tail, -1.0, low);
    high = If(is_tail, 1.0, high);
  }
  const Array a = erf(div(low, root, {}, loc), loc), b = erf(div(high, root, {}, loc), loc);
  const std::vector<Array> bounds = PromoteTo(t, {a, b}, call);
  Array x = mul(root, erf_inv(Uniform(key, as, bounds[0], bounds[1], call), loc), {}, loc);
  if (may_be_in_tail) x = SampleInTail(key, as, lo, hi, x, call);
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

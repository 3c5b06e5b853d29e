// Draws of integers and of distributions with parameters.
#include "api/samplers.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/at.h"
#include "base/dtype.h"
#include "tessera/lookup.h"
#include "tessera/modes.h"

namespace tessera {

using api::DrawnAs;
using frontend::Call;

namespace api {

namespace {
bool AllNumbers(const std::vector<Operand>& xs) {
  for (const Operand& x : xs)
    if (!x.scalar() && TypeOf(x.array())->rank() != 0) return false;
  return true;
}

// What is drawn lies as the first parameter that has its rank.
DrawnAs LaidAs(const std::vector<Operand>& xs, const DrawnAs& as) {
  for (const Operand& x : xs)
    if (!x.scalar() && TypeOf(x.array())->shape().size() == as.shape.size())
      return LaidLike(x.array(), as.shape, as.dtype);
  return as;
}
}  // namespace

base::Shape BroadcastShape(const std::vector<Operand>& xs, Call call) {
  base::Shape shape;
  for (const Operand& x : xs) {
    if (x.scalar()) continue;
    base::Shape own = TypeOf(ToArray(x, call))->shape();
    if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), 1);
    const size_t skip = shape.size() - own.size();
    for (size_t d = 0; d < own.size(); ++d) {
      int64_t& size = shape[skip + d];
      if (size != own[d] && size != 1 && own[d] != 1)
        FailShape(call, 16,
                  fmt::format("the parameters' shapes do not broadcast: {} and {}",
                              ir::FieldText(shape), ir::FieldText(own)));
      if (size == 1) size = own[d];
    }
  }
  return shape;
}

void CheckBroadcasts(const std::vector<Operand>& xs, const base::Shape& shape, Call call) {
  CheckBroadcastsTo(BroadcastShape(xs, call), shape, call);
}
void CheckBroadcastsTo(const base::Shape& own, const base::Shape& shape, Call call) {
  bool fits = own.size() <= shape.size();
  for (size_t d = 0; fits && d < own.size(); ++d) {
    const int64_t size = shape[shape.size() - own.size() + d];
    fits = own[d] == size || own[d] == 1;
  }
  if (!fits)
    FailShape(call, 16,
              fmt::format("the parameters' shape {} does not broadcast to {}", ir::FieldText(own),
                          ir::FieldText(shape)));
}

DrawnAs LaidLike(const Array& x, base::Shape shape, DType t) {
  const ir::Type* type = TypeOf(x);
  DrawnAs as{std::move(shape), t};
  if (type->sharding().dims_empty()) return as;
  std::vector<DimSharding> dims(as.shape.size() - type->shape().size());
  const PartitionSpec spec = sharding::ToSpec(type->sharding());
  for (size_t d = 0; d < type->shape().size(); ++d) {
    const bool same = type->shape()[d] == as.shape[dims.size()] && d < spec.dims().size();
    dims.push_back(same ? spec.dims()[d] : DimSharding());
  }
  as.out_sharding = PartitionSpec(std::move(dims));
  return as;
}

std::vector<Operand> WithKey(const Operand& key, const std::vector<Operand>& xs, Call call) {
  std::vector<Operand> all{Operand(KeyOf(key, call), key.loc())};
  all.insert(all.end(), xs.begin(), xs.end());
  return all;
}

DrawnAs FloatsOf(base::Shape shape, DType t, const std::optional<PartitionSpec>& out, Call call) {
  if (t.is_default()) t = base::DefaultFloat();
  if (!t.is_floating()) FailDType(call, 16, fmt::format("it draws floats, not {}", t.name()));
  CheckShape(shape, call);
  return {std::move(shape), t, out};
}

DrawnAs IntegersOf(base::Shape shape, DType t, const std::optional<PartitionSpec>& out, Call call) {
  if (t.is_default()) t = base::DefaultInt();
  if (!t.is_integer()) FailDType(call, 16, fmt::format("it draws integers, not {}", t.name()));
  CheckShape(shape, call);
  return {std::move(shape), t, out};
}

// Elements that are laid out by themselves; parameters with dims that lie otherwise are moved by
// propagation.
Array DrawnLaidOut(std::vector<Operand> operands, std::string statics, DrawnAs as, Call call,
                   const DrawAs& draw, bool by_index) {
  statics += TextOf(as);
  return Drawn(std::move(operands), std::move(statics), call, [&](const std::vector<Operand>& all) {
    std::vector<Array> arrays;
    for (const Operand& x : all)
      if (!x.scalar()) arrays.push_back(x.array());
    const sharding::MeshDef* mesh = MeshInScope(arrays);
    if (!as.out_sharding) return draw(all, LaidAs(all, as));
    ResolveSpec(as.out_sharding, static_cast<int>(as.shape.size()), mesh, call);
    if (by_index && AllNumbers(all)) return draw(all, as);
    DrawnAs inside = as;
    inside.out_sharding.reset();
    const auto anyhow = [&](std::vector<Array> given) {
      size_t k = 0;
      std::vector<Operand> again;
      for (const Operand& x : all) again.push_back(x.scalar() ? x : Operand(given[k++], x.loc()));
      return draw(again, inside);
    };
    return auto_axes(anyhow, {.out_sharding = *as.out_sharding}, call.loc)(arrays, call.loc);
  });
}

// A parameter in a dtype; a number is one exactly.
Array Parameter(const Operand& x, DType t, Call call) {
  return x.scalar() ? ScalarOf(*x.scalar(), t, false, call) : Convert(x.array(), t, call);
}

Array Spread(const Operand& x, const DrawnAs& as, Call call) {
  const Array p = Parameter(x, as.dtype, call);
  if (TypeOf(p)->shape() == as.shape) return p;
  return broadcast_to(p, Shape(as.shape), {.out_sharding = as.out_sharding}, call.loc);
}

}  // namespace api

namespace {

using api::Parameter;
using frontend::Convert;
using frontend::ScalarOf;
using frontend::TypeOf;

DType UnsignedOf(DType t) { return t.size() == 8 ? u64 : u32; }

// The least and the most number of an integer dtype, and numbers limited to a range.
struct IntegerLimits {
  __int128 least, most;
};
IntegerLimits LimitsOf(DType t) {
  const int digits = t.size() * 8 - (t.is_signed() ? 1 : 0);
  const __int128 end = static_cast<__int128>(1) << digits;
  return {t.is_signed() ? -end : 0, end - 1};
}
__int128 NumberOf(const Scalar& v) {
  if (v.kind() == Scalar::kFloat) return static_cast<__int128>(v.as_double());
  if (v.kind() == Scalar::kUInt) return static_cast<uint64_t>(v.as_int());
  return v.as_int();
}
Array IntegerOf(__int128 v, DType t, Call call) {
  if (t == u64) return ScalarOf(static_cast<uint64_t>(v), t, false, call);
  return ScalarOf(static_cast<int64_t>(v), t, false, call);
}

// A bound in the dtype that is worked in, limited to `range`; and whether it was above.
struct Limited {
  Array value, above;  // `above`: null where it never is
  std::optional<__int128> number;
  bool is_above = false;
};
Limited Limit(const Operand& bound, IntegerLimits range, DType work, Call call) {
  const Loc loc = call.loc;
  if (bound.scalar()) {
    const __int128 v = NumberOf(*bound.scalar());
    const __int128 kept = v < range.least ? range.least : v > range.most ? range.most : v;
    return {IntegerOf(kept, work, call), {}, kept, v > range.most};
  }
  Array x = bound.array();
  if (!TypeOf(x)->dtype().is_integer()) x = Convert(x, base::DefaultInt(), call);
  const DType t = TypeOf(x)->dtype();
  const IntegerLimits own = LimitsOf(t);
  Limited limited;
  if (own.most > range.most) {
    const Array most = IntegerOf(range.most, t, call);
    limited.above = gt(x, most, {}, loc);
    x = minimum(x, most, {}, loc);
  }
  if (own.least < range.least) x = maximum(x, IntegerOf(range.least, t, call), {}, loc);
  limited.value = Convert(x, work, call);
  return limited;
}

// How many numbers there are from lo to hi, as an unsigned number that may wrap to 0; 1 if none.
Array SpanOf(const Limited& lo, const Limited& hi, DType word, bool over, Call call) {
  const Loc loc = call.loc;
  if (lo.number && hi.number) {
    __int128 span = *hi.number <= *lo.number ? 1 : *hi.number - *lo.number;
    if (over && hi.is_above && *hi.number > *lo.number) ++span;
    const uint64_t wrapped =
        static_cast<uint64_t>(span) & static_cast<uint64_t>(LimitsOf(word).most);
    return ScalarOf(wrapped, word, false, call);
  }
  const Array one = ScalarOf(uint64_t{1}, word, false, call);
  const Array empty = le(hi.value, lo.value, {}, loc);
  const Array width = Convert(sub(hi.value, lo.value, {}, loc), word, call);
  const Array span = where(empty, one, width, {}, loc);
  if (!over || (!hi.is_above && !hi.above.impl())) return span;
  const Array wider = add(span, one, {}, loc), there = logical_not(empty, loc);
  if (hi.is_above) return where(there, wider, span, {}, loc);
  return where(logical_and(hi.above, there, {}, loc), wider, span, {}, loc);
}

}  // namespace

// Two words of bits per number, so that a remainder is hardly biased.
Array api::RandomIntegers(const Array& key, const DrawnAs& as, const Operand& minval,
                          const Operand& maxval, Call call) {
  const Loc loc = call.loc;
  const bool small = as.dtype.size() < 4;
  const DType work = small ? i32 : as.dtype, word = UnsignedOf(work);
  const IntegerLimits range = LimitsOf(as.dtype);
  const Limited lo = Limit(minval, range, work, call);
  const Limited hi = Limit(maxval, {range.least, range.most + (small ? 1 : 0)}, work, call);
  const Array span = SpanOf(lo, hi, word, /*over=*/!small, call);
  const auto modulo = [&](const Array& x) { return rem(x, span, {}, loc); };
  const int width = work.size() * 8;
  const std::vector<Array> keys = api::SplitApart(key, 2, call);
  const Array half = ScalarOf(uint64_t{1} << (width / 2), word, false, call);
  Array factor = modulo(half);
  factor = modulo(mul(factor, factor, {}, loc));
  const Array high = modulo(api::RandomBits(keys[0], as, width, call));
  const Array low = modulo(api::RandomBits(keys[1], as, width, call));
  const Array offset = modulo(add(mul(high, factor, {}, loc), low, {}, loc));
  return Convert(add(lo.value, Convert(offset, work, call), {}, loc), as.dtype, call);
}

namespace {

Array BernoulliOf(const Array& key, const DrawnAs& as, const Operand& p, Call call) {
  return lt(api::Uniform(key, as, 0, 1, call), Parameter(p, as.dtype, call), {}, call.loc);
}

// A normal is the error function's inverse of a uniform number, so bounds become bounds of that.
Array TruncatedNormal(const Array& key, const DrawnAs& as, const Operand& lower,
                      const Operand& upper, Call call) {
  const Loc loc = call.loc;
  const DType t = as.dtype;
  const auto number = [&](double v) { return ScalarOf(v, t, false, call); };
  const Array root = number(std::numbers::sqrt2), lo = Parameter(lower, t, call),
              hi = Parameter(upper, t, call);
  const Array a = erf(div(lo, root, {}, loc), loc), b = erf(div(hi, root, {}, loc), loc);
  const std::vector<Array> bounds = frontend::PromoteTo(t, {a, b}, call);
  const Array x =
      mul(root, erf_inv(api::Uniform(key, as, bounds[0], bounds[1], call), loc), {}, loc);
  const double inf = std::numeric_limits<double>::infinity();
  const Array least = nextafter(stop_gradient(lo, loc), number(inf), {}, loc);
  const Array most = nextafter(stop_gradient(hi, loc), number(-inf), {}, loc);
  return minimum(maximum(x, least, {}, loc), most, {}, loc);
}

}  // namespace

namespace random {

Array randint(Operand key, Shape shape, Operand minval, Operand maxval, CreateOptions options,
              Loc loc) {
  const Call call{"random::randint", loc};
  const DrawnAs as = api::IntegersOf(shape.dims(), options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = api::WithKey(key, {minval, maxval}, call);
  api::CheckBroadcasts({minval, maxval}, as.shape, call);
  return api::DrawnLaidOut(
      operands, "", as, call, [&](const std::vector<Operand>& all, const DrawnAs& inside) {
        return api::RandomIntegers(all[0].array(), inside, all[1], all[2], call);
      });
}

Array bernoulli(Operand key, Operand p, Shape shape, OutOptions options, Loc loc) {
  const Call call{"random::bernoulli", loc};
  std::vector<Operand> operands = api::WithKey(key, {p}, call);
  const DType t = p.scalar() ? base::DefaultFloat() : TypeOf(p.array())->dtype();
  if (!t.is_floating())
    frontend::FailDType(call, 16, fmt::format("a probability is a float, not {}", t.name()));
  const DrawnAs as = api::FloatsOf(shape.dims(), t, options.out_sharding, call);
  api::CheckBroadcasts({p}, as.shape, call);
  return api::DrawnLaidOut(operands, "", as, call,
                           [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                             return BernoulliOf(all[0].array(), inside, all[1], call);
                           });
}
Array bernoulli(Operand key, Operand p, Loc loc) {
  const base::Shape shape = api::BroadcastShape({p}, {"random::bernoulli", loc});
  return bernoulli(std::move(key), std::move(p), Shape(shape), {}, loc);
}

Array rademacher(Operand key, Shape shape, CreateOptions options, Loc loc) {
  const Call call{"random::rademacher", loc};
  DType t = options.dtype.is_default() ? base::DefaultInt() : options.dtype;
  if (t.is_bool() || t.is_key() || t.is_unsigned())
    frontend::FailDType(call, 16, fmt::format("{} has no -1", t.name()));
  const DrawnAs as = api::FloatsOf(shape.dims(), base::DefaultFloat(), options.out_sharding, call);
  return api::DrawnLaidOut(api::WithKey(key, {}, call), t.name(), as, call,
                           [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                             return where(BernoulliOf(all[0].array(), inside, 0.5, call),
                                          ScalarOf(1, t, false, call), ScalarOf(-1, t, false, call),
                                          {}, loc);
                           });
}

Array truncated_normal(Operand key, Operand lower, Operand upper, Shape shape,
                       CreateOptions options, Loc loc) {
  const Call call{"random::truncated_normal", loc};
  const DrawnAs as = api::FloatsOf(shape.dims(), options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = api::WithKey(key, {lower, upper}, call);
  api::CheckBroadcasts({lower, upper}, as.shape, call);
  return api::DrawnLaidOut(operands, "", as, call,
                           [&](const std::vector<Operand>& all, const DrawnAs& inside) {
                             return TruncatedNormal(all[0].array(), inside, all[1], all[2], call);
                           });
}
Array truncated_normal(Operand key, Operand lower, Operand upper, Loc loc) {
  const base::Shape shape = api::BroadcastShape({lower, upper}, {"random::truncated_normal", loc});
  return truncated_normal(std::move(key), std::move(lower), std::move(upper), Shape(shape), {},
                          loc);
}

}  // namespace random
}  // namespace tessera

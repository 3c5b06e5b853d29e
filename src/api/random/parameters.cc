// Broadcasts the parameters of samples, and shards samples like them.
#include "api/random/parameters.h"

#include <fmt/format.h>

#include "api/core/call_modes.h"
#include "base/dtype.h"

namespace tessera::api {
namespace {

bool AllNumbers(const std::vector<Operand>& xs) {
  for (const Operand& x : xs)
    if (!x.scalar() && TypeOf(x.array())->rank() != 0) return false;
  return true;
}

// Returns `as` with the sharding of the first parameter that has its rank.
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
    const base::Shape own = TypeOf(ToArray(x, call))->shape();
    if (!BroadcastWith(shape, own))
      FailShape(call, 16,
                fmt::format("the parameters' shapes do not broadcast: {} and {}",
                            ir::FieldText(shape), ir::FieldText(own)));
  }
  return shape;
}

void CheckBroadcasts(const std::vector<Operand>& xs, const base::Shape& shape, Call call) {
  CheckBroadcastsTo(BroadcastShape(xs, call), shape, call);
}
void CheckBroadcastsTo(const base::Shape& own, const base::Shape& shape, Call call) {
  if (!CanBroadcastTo(own, shape))
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
  if (!t.is_floating())
    FailDType(call, 16, fmt::format("its samples must have a floating dtype, not {}", t.name()));
  CheckShape(shape, call);
  return {std::move(shape), t, out};
}

DrawnAs IntegersOf(base::Shape shape, DType t, const std::optional<PartitionSpec>& out, Call call) {
  if (t.is_default()) t = base::DefaultInt();
  if (!t.is_integer())
    FailDType(call, 16, fmt::format("its samples must have an integer dtype, not {}", t.name()));
  CheckShape(shape, call);
  return {std::move(shape), t, out};
}

// With an out_sharding and array parameters, the sample is computed inside auto_axes, where
// propagation moves parameters that are sharded differently.
Array DrawnLaidOut(std::vector<Operand> operands, std::string statics, DrawnAs as, Call call,
                   DrawAs draw, Shards shards) {
  statics += TextOf(as);
  return Drawn(std::move(operands), std::move(statics), call, [&](const std::vector<Operand>& all) {
    std::vector<Array> arrays;
    for (const Operand& x : all)
      if (!x.scalar()) arrays.push_back(x.array());
    const sharding::MeshDef* mesh = MeshInScope(arrays);
    if (!as.out_sharding) return draw(all, LaidAs(all, as));
    ResolveSpec(as.out_sharding, static_cast<int>(as.shape.size()), mesh, call);
    if (shards == Shards::kByIndex && AllNumbers(all)) return draw(all, as);
    DrawnAs inside = as;
    inside.out_sharding.reset();
    const detail::Body anyhow = [&](const std::vector<Array>& given) {
      size_t k = 0;
      std::vector<Operand> again;
      for (const Operand& x : all) again.push_back(x.scalar() ? x : Operand(given[k++], x.loc()));
      const Array drawn = draw(again, inside);
      return detail::FunctionResult{{drawn}, detail::AnyTree::Of(drawn)};
    };
    auto arguments = std::tuple(arrays);
    return CallAutoAxes({arguments, anyhow, call.loc}, {.out_sharding = *as.out_sharding})
        .arrays[0];
  });
}

Array DrawnFloats(const Operand& key, const std::vector<Operand>& parameters,
                  const base::Shape& shape, const CreateOptions& options, Call call, DrawAs draw) {
  const DrawnAs as = FloatsOf(shape, options.dtype, options.out_sharding, call);
  std::vector<Operand> operands = WithKey(key, parameters, call);
  CheckBroadcasts(parameters, as.shape, call);
  return DrawnLaidOut(std::move(operands), "", as, call, draw);
}

// A number must be exact in the dtype; an array is converted.
Array Parameter(const Operand& x, DType t, Call call) {
  return x.scalar() ? StrongScalar(*x.scalar(), t, call) : Convert(x.array(), t, call);
}

Array BroadcastParameter(const Operand& x, const DrawnAs& as, Call call) {
  const Array p = Parameter(x, as.dtype, call);
  if (TypeOf(p)->shape() == as.shape) return p;
  return BroadcastTo(p, as.shape, call, as.out_sharding);
}

}  // namespace tessera::api

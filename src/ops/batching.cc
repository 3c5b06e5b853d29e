// Types and values with a batch dim.
#include "ops/batching.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ir/move_params.h"
#include "ops/expression.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/tangents.h"
#include "sharding/text.h"

namespace tessera::ops {

const ir::Type* WithDim(const ir::Type* type, const ir::MappedDim& dim, size_t at) {
  base::Shape shape = type->shape();
  sharding::TensorSharding sharding = type->sharding();
  shape.insert(shape.begin() + static_cast<long>(at), dim.size);
  sharding.reduced = sharding::Difference(sharding.reduced, dim.axes);
  if (!sharding.mesh) sharding.mesh = dim.mesh;
  sharding::DimAxes mapped;
  // A part of a program may have other modes (auto_axes).
  for (const sharding::AxisPart& a : dim.axes)
    if (sharding.mesh->axes()[a.axis].mode == AxisMode::Explicit) mapped.axes.push_back(a);
  sharding.dims.insert(sharding.dims.begin() + static_cast<long>(at), std::move(mapped));
  return ir::Type::Get(std::move(shape), type->dtype(), std::move(sharding), type->weak());
}

namespace {

// C25, C26: refuses values inside vmap that are sharded over an axis that shards the batch.
void RefuseBatchAxes(const sharding::TensorSharding& s, const std::string& value,
                     const sharding::AxisList& axes, const OpDef& op, Loc loc) {
  absl::InlinedVector<const sharding::AxisList*, 6> lists{&s.unreduced, &s.reduced};
  for (const sharding::DimAxes& d : s.dims) lists.push_back(&d.axes);
  for (const sharding::AxisList* list : lists)
    for (const sharding::AxisPart& axis : *list)
      if (sharding::CollidesWithAny(axes, axis))
        base::ThrowSharding(base::Refusal(
            std::string(op.name), 25, base::Where(loc),
            fmt::format(
                "inside vmap, a value is laid out as {}, but the mapped dim is sharded over {} too",
                value, sharding::AxisText(*s.mesh, axis)),
            {"map over a dim that is sharded over other axes, or reshard the value"}));
}
void RefuseBatchAxes(const ir::Type* type, const ir::MappedDim& dim, const OpDef& op, Loc loc) {
  const sharding::MeshDef* mesh = type->mesh();
  for (const sharding::AxisPart& a : dim.axes)
    if (mesh && mesh->axes()[a.axis].mode == AxisMode::Manual)
      base::ThrowSharding(base::Refusal(
          std::string(op.name), 26, base::Where(loc),
          fmt::format("inside vmap, axis {} becomes Manual, but the mapped dim is sharded over it",
                      sharding::AxisText(*mesh, a)),
          {"name only the other axes in .axes of shard_map, or map over a dim that is sharded "
           "over other axes"}));
  RefuseBatchAxes(type->sharding(), type->text(), dim.axes, op, loc);
}

const ir::Type* WithoutReduced(const ir::Type* type, const ir::MappedDim& dim) {
  sharding::TensorSharding s = type->sharding();
  s.reduced = sharding::Difference(s.reduced, dim.axes);
  return type->WithSharding(std::move(s));
}

// C25: refuses a constraint over Auto axes that also shard the batch.
void RefuseConstraint(const ir::BatchCall& c) {
  const auto* own = dynamic_cast<const ir::ParamsOf<ir::ConstraintParams>*>(c.params.get());
  if (!own) return;
  const sharding::TensorSharding& s = own->value.sharding;
  RefuseBatchAxes(s, sharding::Text(s), c.dim.lies.axes, c.op, c.builder.loc());
}

}  // namespace

ir::ValueId Repeated(ir::Builder& builder, ir::ValueId v, const ir::MappedDim& dim) {
  // A value that is reduced over the axes of the batch is the same for all batch elements.
  const ir::Type* type = WithoutReduced(builder.type(v), dim);
  RefuseBatchAxes(type, dim, kBroadcastInDim, builder.loc());
  type = WithDim(type, dim);
  BroadcastParams params;
  params.dims.resize(type->rank() - 1);
  absl::c_iota(params.dims, 1);
  return builder.EmitTyped(kBroadcastInDim, ir::MakeParams(std::move(params)), {v}, {&type, 1})[0];
}

ir::ValueId RepeatedLike(ir::Builder& builder, ir::ValueId v, const ir::Type* like) {
  const ir::Type* type = builder.type(v);
  if (type->rank() == like->rank()) return v;
  sharding::TensorSharding sharding = like->sharding();
  sharding.TakeSets(type->sharding());
  const ir::Type* to =
      ir::Type::Get(like->shape(), type->dtype(), std::move(sharding), type->weak());
  return builder.EmitTyped(kBroadcastInDim, ir::MakeParams(BroadcastParams{{0}}), {v}, {&to, 1})[0];
}

ir::ValueId ToFront(ir::Builder& builder, ir::ValueId v, size_t dim, const ir::Type* type) {
  TransposeParams p;
  for (int64_t d = 0; d < type->rank(); ++d)
    p.perm.push_back(d == 0                           ? static_cast<int64_t>(dim)
                     : d <= static_cast<int64_t>(dim) ? d - 1
                                                      : d);
  return builder.EmitTyped(kTranspose, ir::MakeParams(std::move(p)), {v}, {&type, 1})[0];
}

ir::ValueId AnyLane(ir::Builder& builder, ir::ValueId predicate) {
  return builder.Emit(kReduceOr, ir::MakeParams(DimsParams{{0}}), {predicate});
}

ir::ValueId ByLane(ir::Builder& builder, ir::ValueId predicate, ir::ValueId yes, ir::ValueId no) {
  const ir::Type* type = builder.type(yes);
  const ir::ValueId operands[] = {RepeatedLike(builder, predicate, type), no, yes};
  return builder.EmitTyped(Elementwise(ScalarOp::kSelect), nullptr, operands, {&type, 1})[0];
}

ir::ValueId CountedWhere(ir::Builder& builder, ir::ValueId predicate, ir::ValueId v) {
  const ir::Type* type = builder.type(v);
  const ir::ValueId constant = builder.EmitTyped(kStopGradient, nullptr, {v}, {&type, 1})[0];
  if (builder.type(predicate)->rank() > 0) return ByLane(builder, predicate, v, constant);
  return Where(X(builder, predicate), X(builder, v), X(builder, constant)).id();
}

bool IsChoice(const ir::Instruction& i) {
  const auto* op = std::get_if<ir::AsElementwise>(&*i.op->lowering);
  return op && op->op == ScalarOp::kSelect;
}
bool IsCountedWhere(const ir::Instruction& choice, const ir::Instruction* no) {
  return no && no->op == &kStopGradient && no->operands[0] == choice.operands[2];
}

ir::ValueId SumOfLanes(ir::Builder& builder, ir::ValueId v, const ir::Type* type) {
  return Conform(builder, SumTo(builder, v, {{0}}, type), type);
}

ir::ValueId WithDim(const ir::BatchCall& call, size_t k) {
  return call.mapped[k] ? call.operands[k] : Repeated(call.builder, call.operands[k], call.dim);
}

namespace {

std::vector<ir::ValueId> ByElements(const ir::BatchCall& c) {
  const ir::Type* type = WithDim(c.result_types[0], c.dim);
  // Binary ops take a scalar with any array, other ops only with one that is an array in each
  // batch element.
  const bool takes_scalars = c.operands.size() <= 2 || c.result_types[0]->rank() > 0;
  std::vector<ir::ValueId> operands;
  for (size_t k = 0; k < c.operands.size(); ++k) {
    const bool is_scalar = c.operand_types[k]->rank() == 0;
    if (!c.mapped[k] && is_scalar && takes_scalars)
      operands.push_back(c.operands[k]);
    else
      operands.push_back(is_scalar ? RepeatedLike(c.builder, WithDim(c, k), type) : WithDim(c, k));
  }
  return {c.builder.EmitTyped(c.op, c.params, operands, {&type, 1})[0]};
}

// Returns the position of the batch dim in results, where a mapped operand's first factor went.
size_t BatchPosition(const ir::BatchCall& c, const ir::Params* params,
                     const std::vector<ir::ValueId>& operands, size_t mapped) {
  absl::InlinedVector<const ir::Type*, 3> types;
  for (ir::ValueId v : operands) types.push_back(c.builder.type(v));
  const ir::ShapeAndDType wanted{WithDim(c.result_types[0], c.dim)->shape(),
                                 c.result_types[0]->dtype()};
  const auto results = (*c.op.type)({c.op, types, params, &wanted});
  ir::DimsCall dims{c.op, {}, {&results[0].shape}, params};
  for (const ir::Type* t : types) dims.operands.push_back(&t->shape());
  const sharding::DimMap map = std::get<ir::DimMapFn>(*c.op.dims)(dims);
  const int32_t factor = map.operands[mapped][0][0];
  size_t at = 0;
  while (map.results[0][at] != sharding::FactorList{factor}) ++at;
  return at;
}

}  // namespace

std::vector<ir::ValueId> ByDims(const ir::BatchCall& c) {
  const std::array<bool, 2> alone = c.params ? c.params->alone() : std::array<bool, 2>{};
  ir::Mapping mapping{c.mapped, c.dim.size, c.dim.lies};
  const bool pairs = alone[0] || alone[1];
  // A scalar next to arrays is one number for all batch elements.
  const auto lacks = [&](size_t k) {
    if (!pairs) return c.operand_types[k]->rank() == 0;
    return k < 2 && mapping.operands[1 - k] && alone[1 - k];
  };
  std::vector<ir::ValueId> operands(c.operands.begin(), c.operands.end());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (c.mapped[k] || lacks(k)) continue;
    operands[k] = WithDim(c, k);
    mapping.operands[k] = true;
  }
  const ir::ParamsPtr params = c.params ? c.params->Mapped(mapping) : nullptr;
  size_t at = 0;
  if (pairs) at = BatchPosition(c, params.get(), operands, mapping.operands[0] ? 0 : 1);
  absl::InlinedVector<const ir::Type*, 2> types;
  for (const ir::Type* t : c.result_types) types.push_back(WithDim(t, c.dim, at));
  const auto results = c.builder.EmitTyped(c.op, params, operands, types);
  if (at == 0) return {results.begin(), results.end()};
  return {ToFront(c.builder, results[0], at, WithDim(c.result_types[0], c.dim))};
}

std::vector<ir::ValueId> Batched(const ir::BatchCall& c) {
  // A result is reduced over axes of the batch dim because an operand that all batch elements share
  // is reduced. Each batch element has its own result, so the result is no longer reduced. Only a
  // move asks for a reduced result.
  const bool asks = std::holds_alternative<ir::AsMove>(*c.op.lowering);
  for (const ir::Type* t : c.result_types)
    RefuseBatchAxes(asks ? t : WithoutReduced(t, c.dim), c.dim, c.op, c.builder.loc());
  RefuseConstraint(c);
  if (std::holds_alternative<ir::AsElementwise>(*c.op.lowering)) return ByElements(c);
  return c.op.batch ? c.op.batch(c) : ByDims(c);
}

}  // namespace tessera::ops

// Zeros, sums and conversions of tangents and cotangents.
#include "ops/tangents.h"

#include <absl/algorithm/container.h>

#include <numeric>

#include "ops/expression.h"
#include "ops/laid_out.h"
#include "ops/manual.h"
#include "ops/params.h"

namespace tessera::ops {
namespace {

// Returns the params that broadcast an operand of an elementwise op: dim d of the operand is dim d
// of the result. A scalar has no dims.
ir::ParamsPtr AlignedDims(const ir::Type* from) {
  BroadcastParams params;
  params.dims.resize(from->rank());
  absl::c_iota(params.dims, 0);
  return ir::MakeParams(std::move(params));
}

ir::ValueId BroadcastTo(ir::Builder& b, ir::ValueId v, const ir::Type* to) {
  // The value stays unreduced, reduced and varying as it is.
  sharding::TensorSharding sharding = to->sharding();
  sharding.TakeSets(b.type(v)->sharding());
  const ir::Type* type = to->WithSharding(std::move(sharding));
  return b.EmitTyped(kBroadcastInDim, AlignedDims(b.type(v)), {v}, {&type, 1})[0];
}

// Sums over the dims that `to` lacks or has with size 1.
ir::ValueId SummedTo(ir::Builder& b, ir::ValueId v, const ir::Type* to) {
  const base::Shape& from = b.type(v)->shape();
  DimsParams dims;
  for (size_t d = 0; d < from.size(); ++d)
    if (to->rank() == 0 || from[d] != to->shape()[d]) dims.dims.push_back(static_cast<int64_t>(d));
  return SumTo(b, v, std::move(dims), to);
}

}  // namespace

bool IsBroadcastOf(const base::Shape& small, const base::Shape& large) {
  if (small.empty()) return true;
  bool fits = small.size() == large.size();
  for (size_t d = 0; fits && d < small.size(); ++d) fits = small[d] == large[d] || small[d] == 1;
  return fits;
}

const ir::Type* CotangentType(const ir::Type* primal) {
  const sharding::TensorSharding& s = primal->sharding();
  if (s.unreduced.empty() && s.reduced.empty()) return primal->WithWeak(false);
  sharding::TensorSharding dual = s;
  std::swap(dual.unreduced, dual.reduced);
  dual.kind = Reduction::kSum;
  return primal->WithSharding(std::move(dual))->WithWeak(false);
}

ir::ValueId Filled(ir::Builder& builder, double value, const ir::Type* type) {
  type = type->WithWeak(false);
  ir::HostTensor one(type->dtype(), {1});
  if (type->dtype().is_inexact())
    one.SetFloat(0, value);
  else
    one.SetInt(0, static_cast<int64_t>(value));
  const ir::Type* scalar = ir::Type::Get({}, type->dtype(), type->mesh());
  ir::ValueId number = builder.EmitTyped(kConstant, LiteralOf(one), {}, {&scalar, 1})[0];
  number = ToManualStates(builder, number, WithManualStates(scalar, type->sharding()));
  return Conform(builder, number, type);
}

ir::ValueId SumTo(ir::Builder& builder, ir::ValueId v, DimsParams dims, const ir::Type* to) {
  if (!dims.dims.empty()) {
    const ir::Type* from = builder.type(v);
    sharding::TensorSharding left = from->sharding();
    base::Shape shape = from->shape();
    for (size_t k = dims.dims.size(); k-- > 0;) {
      left.dims.erase(left.dims.begin() + dims.dims[k]);
      shape.erase(shape.begin() + dims.dims[k]);
    }
    left.unreduced = to->sharding().unreduced;
    left.reduced = to->sharding().reduced;
    left.kind = to->sharding().kind;
    for (const sharding::DimAxes& d : left.dims) {
      left.unreduced = sharding::Difference(left.unreduced, d.axes);
      left.reduced = sharding::Difference(left.reduced, d.axes);
    }
    const ir::Type* sum = ir::Type::Get(std::move(shape), from->dtype(), std::move(left));
    v = EmitSums(builder, kReduceSum, ir::MakeParams(std::move(dims)), {v}, sum);
  }
  if (builder.type(v)->shape() == to->shape()) return v;
  const sharding::TensorSharding &has = builder.type(v)->sharding(), &wants = to->sharding();
  if (has.unreduced == wants.unreduced && has.reduced == wants.reduced)
    return builder.EmitTyped(kReshape, nullptr, {v}, {&to, 1})[0];
  // Dims sharded over axes that `to` is unreduced over stay sharded until they are reshaped.
  const ir::ShapeAndDType wanted{to->shape(), to->dtype()};
  return Conform(builder, builder.Emit(kReshape, nullptr, {v}, {.wanted = &wanted}), to);
}

ir::ValueId ZerosBeside(ir::Builder& builder, ir::ValueId other, const ir::Type* type) {
  sharding::TensorSharding sharding = type->sharding();
  sharding.TakeSets(builder.type(other)->sharding());
  return Zeros(builder, type->WithSharding(std::move(sharding)));
}

ir::ValueId Barrier(ir::Builder& builder, ir::ValueId v) {
  const ir::Type* type = builder.type(v);
  return builder.EmitTyped(kOptimizationBarrier, nullptr, {v}, {&type, 1})[0];
}

ir::ValueId Sum(ir::Builder& builder, ir::ValueId a, ir::ValueId b) {
  if (a == ir::kNoValue) return b;
  if (b == ir::kNoValue) return a;
  return (X(builder, a) + X(builder, b)).id();
}

ir::ValueId Conform(ir::Builder& builder, ir::ValueId v, const ir::Type* to) {
  to = to->WithWeak(false);
  const ir::Type* from = builder.type(v)->WithWeak(false);
  if (from->dtype() != to->dtype()) {
    const ir::ShapeAndDType wanted{from->shape(), to->dtype()};
    v = builder.Emit(Elementwise(plan::ScalarOp::kConvert), nullptr, {v}, {.wanted = &wanted});
  }
  if (from->shape() != to->shape()) {
    const ir::Type* like = WithManualStates(to, from->sharding());
    v = IsBroadcastOf(to->shape(), from->shape()) ? SummedTo(builder, v, like)
                                                  : BroadcastTo(builder, v, like);
  }
  v = ToManualStates(builder, v, to);
  // A value from inside shard_map leaves it here.
  if (const sharding::MeshDef* mesh = builder.type(v)->mesh();
      mesh && mesh != to->mesh() && mesh->has_mode(AxisMode::Manual))
    return builder.EmitTyped(kShardToFull, ir::MakeParams(ManualParams{}), {v}, {&to, 1})[0];
  if (ir::SameType(builder.type(v), to)) return v;
  return builder.EmitTyped(kImpliedReshard, nullptr, {v}, {&to, 1})[0];
}

}  // namespace tessera::ops

// Zeros, sums and fits of tangents and cotangents.
#include "ops/tangents.h"

#include <numeric>

#include "ops/expression.h"
#include "ops/laid_out.h"
#include "ops/params.h"

namespace tessera::ops {
namespace {

// Where the dims of an operand that elementwise ops broadcast are in the result: a scalar has none.
ir::ParamsPtr AlignedDims(const ir::Type* from) {
  BroadcastParams params;
  params.dims.resize(static_cast<size_t>(from->rank()));
  std::iota(params.dims.begin(), params.dims.end(), 0);
  return ir::MakeParams(std::move(params));
}

ir::ValueId Repeated(ir::Builder& b, ir::ValueId v, const ir::Type* to) {
  return b.EmitTyped(kBroadcastInDim, AlignedDims(b.type(v)), {v}, {&to, 1})[0];
}

// Sums over the dims that `to` has not, or has with size 1.
ir::ValueId Summed(ir::Builder& b, ir::ValueId v, const ir::Type* to) {
  const ir::Shape& from = b.type(v)->shape();
  DimsParams dims;
  for (size_t d = 0; d < from.size(); ++d)
    if (to->rank() == 0 || from[d] != to->shape()[d]) dims.dims.push_back(static_cast<int64_t>(d));
  return SumTo(b, v, std::move(dims), to);
}

}  // namespace

bool IsBroadcastOf(const ir::Shape& small, const ir::Shape& large) {
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
  if (type->dtype().is_floating())
    one.SetFloat(0, value);
  else
    one.SetInt(0, static_cast<int64_t>(value));
  const ir::Type* scalar = ir::Type::Get({}, type->dtype(), type->mesh());
  ir::ValueId number = builder.EmitTyped(kConstant, LiteralOf(one), {}, {&scalar, 1})[0];
  return scalar == type ? number : Repeated(builder, number, type);
}

ir::ValueId SumTo(ir::Builder& builder, ir::ValueId v, DimsParams dims, const ir::Type* to) {
  // A partial sum, if that is what is wanted: nothing is sent for it.
  sharding::TensorSharding partial = builder.type(v)->sharding();
  for (size_t k = dims.dims.size(); k-- > 0;)
    partial.dims.erase(partial.dims.begin() + dims.dims[k]);
  partial.unreduced = to->sharding().unreduced;
  const bool stays = !partial.unreduced.empty();
  if (!dims.dims.empty())
    v = builder.Emit(kReduceSum, ir::MakeParams(std::move(dims)), {v},
                     {.out_sharding = stays ? &partial : nullptr});
  if (builder.type(v)->shape() == to->shape()) return v;
  return builder.EmitTyped(kReshape, nullptr, {v}, {&to, 1})[0];
}

ir::ValueId Barrier(ir::Builder& builder, ir::ValueId v) {
  const ir::Type* type = builder.type(v);
  return builder.EmitTyped(kOptimizationBarrier, nullptr, {v}, {&type, 1})[0];
}

ir::ValueId Sum(ir::Builder& builder, ir::ValueId a, ir::ValueId b) {
  if (a < 0 || b < 0) return a < 0 ? b : a;
  return (X(builder, a) + X(builder, b)).id();
}

ir::ValueId Conform(ir::Builder& builder, ir::ValueId v, const ir::Type* to) {
  to = to->WithWeak(false);
  const ir::Type* from = builder.type(v)->WithWeak(false);
  if (from->dtype() != to->dtype()) {
    const ir::ShapeAndDType wanted{from->shape(), to->dtype()};
    v = builder.Emit(Elementwise(plan::ScalarOp::kConvert), nullptr, {v}, {.wanted = &wanted});
  }
  if (from->shape() != to->shape())
    v = IsBroadcastOf(to->shape(), from->shape()) ? Summed(builder, v, to)
                                                  : Repeated(builder, v, to);
  if (ir::SameType(builder.type(v), to)) return v;
  return builder.EmitTyped(kImpliedReshard, nullptr, {v}, {&to, 1})[0];
}

}  // namespace tessera::ops

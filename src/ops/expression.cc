// Formulas over values: each operator emits an op.
#include "ops/expression.h"

#include "base/at.h"
#include "ops/laid_out.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/pieces.h"
#include "ops/tangents.h"

namespace tessera::ops {

using plan::ScalarOp;

X X::Number(double value) const {
  ir::HostTensor one(type()->dtype(), {1});
  if (type()->dtype().is_inexact())
    one.SetFloat(0, value);
  else
    one.SetInt(0, static_cast<int64_t>(value));
  const ir::Type* scalar = ir::Type::Get({}, type()->dtype(), type()->mesh());
  return {*builder_, builder_->EmitTyped(kConstant, LiteralOf(one), {}, {&scalar, 1})[0]};
}

X Apply(ScalarOp op, std::initializer_list<X> operands) {
  absl::InlinedVector<ir::ValueId, 3> ids;
  for (const X& x : operands) ids.push_back(x.id());
  ir::Builder& builder = operands.begin()->builder();
  return {builder, builder.Emit(Elementwise(op), nullptr, ids)};
}

X operator-(X a) { return Apply(ScalarOp::kNeg, {a}); }
X operator+(X a, X b) { return Apply(ScalarOp::kAdd, {a, b}); }
X operator-(X a, X b) { return Apply(ScalarOp::kSub, {a, b}); }
X operator*(X a, X b) { return Apply(ScalarOp::kMul, {a, b}); }
X operator/(X a, X b) { return Apply(ScalarOp::kDiv, {a, b}); }

X Constant(X x) { return {x.builder(), x.builder().Emit(kStopGradient, nullptr, {x.id()})}; }
X ZerosLike(X x) { return {x.builder(), Zeros(x.builder(), x.type())}; }
X IndexAlong(X x, int64_t dim) {
  base::Shape shape(x.type()->shape().size(), 1);
  shape[base::Size(dim)] = x.type()->shape()[base::Size(dim)];
  const auto rank = static_cast<int>(shape.size());
  const ir::Type* type = ir::Type::Get(shape, i32, sharding::Replicated(x.type()->mesh(), rank));
  return {x.builder(),
          x.builder().EmitTyped(kIota, ir::MakeParams(IotaParams{{dim}}), {}, {&type, 1})[0]};
}

X Shifted(X x, int64_t dim, int64_t by, double fill) {
  const size_t rank = x.type()->shape().size();
  return {x.builder(), x.builder().Emit(kPad, PadAlong(rank, base::Size(dim), by, -by),
                                        {x.id(), x.Number(fill).id()})};
}

X Where(X condition, X yes, X no) {
  // select_n does not broadcast: all operands get the largest shape.
  const ir::Type* like = condition.type();
  for (const X& x : {yes, no})
    if (IsBroadcastOf(like->shape(), x.type()->shape())) like = x.type();
  // Both cases are unreduced or reduced over the same axes: those of one case, else those of the
  // condition. The op itself joins varying axes.
  const auto whole = [&](X x, X sets) {
    sharding::TensorSharding sharding = like->sharding();
    sharding.unreduced = sets.type()->sharding().unreduced;
    sharding.reduced = sets.type()->sharding().reduced;
    sharding.kind = sets.type()->sharding().kind;
    sharding.varying = x.type()->sharding().varying;
    const ir::Type* type = like->WithDType(x.type()->dtype())->WithSharding(std::move(sharding));
    return X(x.builder(), Conform(x.builder(), x.id(), type));
  };
  X sets = condition;
  for (const X& x : {no, yes})
    if (!x.type()->sharding().reduced.empty()) sets = x;
  for (const X& x : {no, yes})
    if (!x.type()->sharding().unreduced.empty()) sets = x;
  return Apply(ScalarOp::kSelect, {whole(condition, condition), whole(no, sets), whole(yes, sets)});
}

}  // namespace tessera::ops

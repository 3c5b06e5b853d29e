// Hints for propagation over Auto axes. They are identities: devices do not run them.
#include "ops/batching.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "ops/reference_values.h"
#include "ops/rule_builder.h"

namespace tessera::ops {
namespace {

std::vector<ShapeAndDType> TypeOfFirst(const TypeCall& c) {
  CheckCount(c, 2);
  const base::Shape &x = c.operands[0]->shape(), &like = c.operands[1]->shape();
  if (x != like)
    c.FailShape(18, fmt::format("the arrays have different shapes, {} and {}", ShapeText(x),
                                ShapeText(like)));
  return {{x, c.operands[0]->dtype()}};
}

std::vector<ir::ValueId> FirstAsResult(ir::Builder& builder, const ir::Params*,
                                       absl::Span<const ir::ValueId> operands,
                                       const ir::Type* result) {
  return {
      builder.EmitTyped(Elementwise(ScalarOp::kConvert), nullptr, {operands[0]}, {&result, 1})[0]};
}

void FirstReference(const ir::ReferenceCall& call) {
  reference::CopyElements({.op = call.op,
                           .params = call.params,
                           .operands = {call.operands[0]},
                           .results = call.results});
}

// Tangents are sharded alike too, if both operands have one.
std::vector<ir::ValueId> LikeJvp(const ir::DiffCall& c, absl::Span<const ir::ValueId> tangents,
                                 std::vector<ir::ValueId>&) {
  if (tangents[0] == ir::kNoValue || tangents[1] == ir::kNoValue) return {tangents[0]};
  return {c.builder.Emit(kShardedLike, nullptr, {tangents[0], tangents[1]})};
}

std::vector<ir::ValueId> LikeTransposes(const ir::DiffCall&,
                                        absl::Span<const ir::ValueId> cotangents) {
  return {cotangents[0], ir::kNoValue};
}

std::vector<ir::ValueId> LikeLanes(const ir::BatchCall& c) {
  return {c.builder.Emit(kShardedLike, nullptr, {WithDim(c, 0), WithDim(c, 1)})};
}

}  // namespace

constexpr OpDef kShardedLike{
    .name = "sharded_like",
    .doc = "The first operand; propagation shards both alike.",
    .type = ir::TypeFn{TypeOfFirst},
    // Over Explicit axes both operands have one sharding, as those of an elementwise op.
    .dims = ir::DimMapFn{LinearInFirst},
    .lowering = ir::AsExpansion{FirstAsResult, /*late=*/true},
    .reference = ir::ReferenceFn{FirstReference},
    .diff = ir::Structural{LikeJvp, LikeTransposes},
    .batch = LikeLanes,
    .operand_names = {"x", "like", ""}};
constexpr OpDef kPropagationBarrier{
    .name = "propagation_barrier",
    .doc = "x; shardings propagate only forward, or only backward, or not at all.",
    .type = ir::TypeFn{TypeOfOperand},
    .dims = ir::DimMapFn{LinearInFirst},
    .lowering = ir::AsView{},
    .reference = ir::ReferenceFn{reference::CopyElements},
    .diff = ir::Derivative{.of = {AlongWithValue}, .transpose = Same},
    .params = ir::KindOf<BarrierParams>(),
    .keys = true};

Records HintOps() {
  static constexpr const OpDef* kOps[] = {&kShardedLike, &kPropagationBarrier};
  return kOps;
}

}  // namespace tessera::ops

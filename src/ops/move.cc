// Moves between shardings: reshard as the user writes it, and the collectives it becomes.
#include "ir/move_params.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

std::vector<ShapeAndDType> SameType(const TypeCall& c) {
  CheckCount(c, 1);
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}

constexpr OpDef Mover(std::string_view name, std::string_view doc,
                      ir::ParamsKind params = ir::KindOf<ir::MoveParams>(), ir::Move move = {},
                      ir::Diff diff = kOnDevicesOnly) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{SameType},
          .dims = ir::NoRule{"it changes the sharding, which its result type states"},
          .lowering = move,
          .reference = ir::ReferenceFn{reference::SameElements},
          .diff = diff,
          .params = params};
}

// A tangent moves as its value does, and a cotangent back.
ir::ValueId MoveTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  const ir::Type* type = c.result_types[0]->WithWeak(false);
  return c.builder.EmitTyped(c.op, c.params, {tangent}, {&type, 1})[0];
}
ir::ValueId MoveBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const ir::Type* type = CotangentTypeOf(c, 0);
  return c.builder.EmitTyped(c.op, c.params, {cotangent}, {&type, 1})[0];
}
constexpr ir::Derivative kMoves{.of = {MoveTangent}, .transpose = MoveBack};

}  // namespace

constexpr OpDef kReshard =
    Mover("reshard", "The same values laid out as the result type says.", {}, {}, kMoves);
constexpr OpDef kImpliedReshard =
    Mover("implied_reshard", "The same, where the library puts it: at a border, or inside an op.",
          {}, {.implied = true}, kMoves);
constexpr OpDef kShardingConstraint =
    Mover("sharding_constraint", "The same values; propagation starts from the sharding.",
          ir::KindOf<ir::ConstraintParams>(), {}, kMoves);
constexpr OpDef kPadToShards =
    Mover("pad_to_shards", "Zeros behind a dim until it divides; local.");
constexpr OpDef kTrim = Mover("trim", "What pad_to_shards added is dropped; local.");
constexpr OpDef kAllSlice = Mover("all_slice", "Each device keeps its part; local.");
constexpr OpDef kAllGather = Mover("all_gather", "Every device gets the parts along axes.");
constexpr OpDef kAllToAll = Mover("all_to_all", "Axes move from one dim to another.");
constexpr OpDef kCollectivePermute = Mover("collective_permute", "Shards change devices.");
constexpr OpDef kHaloExchange =
    Mover("halo_exchange", "Each device gets the elements that its part of the result reads.",
          ir::KindOf<ir::HaloParams>());
constexpr OpDef kAllReduce = Mover("all_reduce", "Partial values combined, on every device.");
constexpr OpDef kReduceScatter =
    Mover("reduce_scatter", "Partial values combined, each device a part.");
constexpr OpDef kReplicatedToUnreduced = Mover(
    "replicated_to_unreduced",
    "One device keeps the value, the others hold zeros (of max and min: all keep it); local.");
constexpr OpDef kShardedToUnreduced =
    Mover("sharded_to_unreduced", "Each device keeps its part amid zeros; local.");

Records MoveOps() {
  static constexpr const OpDef* kOps[] = {&kReshard,
                                          &kImpliedReshard,
                                          &kShardingConstraint,
                                          &kPadToShards,
                                          &kTrim,
                                          &kHaloExchange,
                                          &kAllSlice,
                                          &kAllGather,
                                          &kAllToAll,
                                          &kCollectivePermute,
                                          &kAllReduce,
                                          &kReduceScatter,
                                          &kReplicatedToUnreduced,
                                          &kShardedToUnreduced};
  return kOps;
}

}  // namespace tessera::ops

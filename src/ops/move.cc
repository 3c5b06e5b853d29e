// Moves between shardings: reshard as the user writes it, and the collectives it becomes.
#include "ir/move_params.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using sharding::StepKind;

struct MoverFields {
  std::string_view name;
  std::string_view doc;
  ir::ParamsKind params;
  ir::AsMove move = {};
  ir::Diff diff = kOnDevicesOnly;
};

constexpr OpDef Mover(const MoverFields& f) {
  return {.name = f.name,
          .doc = f.doc,
          .type = ir::TypeFn{TypeOfOperand},
          .dims = ir::NoRule{"it changes the sharding, which its result type states"},
          .lowering = f.move,
          .reference = ir::ReferenceFn{reference::CopyElements},
          .diff = f.diff,
          .params = f.params,
          .keys = true};
}

// Returns the record of a step of reshard plans, which has the step's name.
constexpr OpDef Step(StepKind step, std::string_view doc,
                     ir::ParamsKind params = ir::KindOf<ir::MoveParams>()) {
  return Mover({.name = Name(step), .doc = doc, .params = params, .move = {.step = step}});
}

// Moves the cotangent back.
ir::ValueId MoveBack(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return AsCotangent(c, 0, c.op, c.params, {cotangent});
}
constexpr ir::Derivative kMoves{.of = {AlongWithValue}, .transpose = MoveBack};

}  // namespace

constexpr OpDef kReshard = Mover({.name = "reshard",
                                  .doc = "The same values laid out as the result type says.",
                                  .params = {},
                                  .diff = kMoves});
constexpr OpDef kImpliedReshard =
    Mover({.name = "implied_reshard",
           .doc = "A reshard that the library inserts: at a border, or inside an op.",
           .params = {},
           .move = {.implied = true},
           .diff = kMoves});
constexpr OpDef kShardingConstraint =
    Mover({.name = "sharding_constraint",
           .doc = "The same values; propagation starts from the sharding.",
           .params = ir::KindOf<ir::ConstraintParams>(),
           .diff = kMoves});
constexpr OpDef kPadToShards =
    Step(StepKind::kPadToShards, "Pads a dim with zeros until it divides; local.");
constexpr OpDef kTrim = Step(StepKind::kTrim, "Drops the padding that pad_to_shards added; local.");
constexpr OpDef kAllSlice = Step(StepKind::kAllSlice, "Each device keeps its part; local.");
constexpr OpDef kAllGather =
    Step(StepKind::kAllGather, "Every device gets the parts of all devices along axes.");
constexpr OpDef kAllToAll = Step(StepKind::kAllToAll, "Axes move from one dim to another.");
constexpr OpDef kCollectivePermute =
    Step(StepKind::kCollectivePermute, "Shards move to other devices.");
constexpr OpDef kHaloExchange = Step(
    StepKind::kHaloExchange, "Each device gets the elements that its part of the result reads.",
    ir::KindOf<ir::HaloParams>());
constexpr OpDef kAllReduce =
    Step(StepKind::kAllReduce, "Partial values combined, on every device.");
constexpr OpDef kReduceScatter =
    Step(StepKind::kReduceScatter, "Partial values combined; each device gets a part.");
constexpr OpDef kReplicatedToUnreduced =
    Step(StepKind::kReplicatedToUnreduced,
         "One device keeps the value, the others hold zeros (max and min: all keep "
         "it); local.");
constexpr OpDef kShardedToUnreduced =
    Step(StepKind::kShardedToUnreduced, "Each device keeps its part, zeros elsewhere; local.");
// Both types have the same part on each device. Lowering emits this where an array inside shard_map
// is seen as a part of a whole one, and back.
constexpr OpDef kSeenAs{.name = "seen_as",
                        .doc = "The same parts, seen as those of another array.",
                        .type = ir::TypeFn{TypeOfOperand},
                        .dims = ir::NoRule{"it reinterprets the shards as shards of another array"},
                        .lowering = ir::AsView{},
                        .reference = ir::ReferenceFn{reference::CopyElements},
                        .diff = kOnDevicesOnly,
                        .params = ir::KindOf<ir::MoveParams>(),
                        .keys = true};
constexpr OpDef kCopyToEach =
    Step(StepKind::kCopyToEach, "Every device gets a copy of its own; local.");

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
                                          &kShardedToUnreduced,
                                          &kSeenAs,
                                          &kCopyToEach};
  return kOps;
}

}  // namespace tessera::ops

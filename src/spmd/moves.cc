// The one table of ops and steps of a reshard.
#include "spmd/moves.h"

#include "base/error.h"
#include "ops/ops.h"

namespace tessera::spmd {

using sharding::StepKind;

const ir::OpDef& OpOf(StepKind kind) {
  switch (kind) {
    case StepKind::kAllSlice:
      return ops::kAllSlice;
    case StepKind::kAllGather:
      return ops::kAllGather;
    case StepKind::kAllToAll:
      return ops::kAllToAll;
    case StepKind::kCollectivePermute:
      return ops::kCollectivePermute;
    case StepKind::kAllReduce:
      return ops::kAllReduce;
    case StepKind::kReduceScatter:
      return ops::kReduceScatter;
    case StepKind::kReplicatedToUnreduced:
      return ops::kReplicatedToUnreduced;
    case StepKind::kShardedToUnreduced:
      return ops::kShardedToUnreduced;
    case StepKind::kPadToShards:
      return ops::kPadToShards;
    case StepKind::kTrim:
      return ops::kTrim;
    case StepKind::kCopyToEach:
      return ops::kCopyToEach;
    case StepKind::kHaloExchange:
      break;
  }
  return ops::kHaloExchange;
}

StepKind KindOf(const ir::OpDef& op) {
  if (std::holds_alternative<ir::AsPermute>(*op.lowering)) return StepKind::kCollectivePermute;
  for (int kind = 0; kind <= static_cast<int>(StepKind::kHaloExchange); ++kind)
    if (&OpOf(static_cast<StepKind>(kind)) == &op) return static_cast<StepKind>(kind);
  ErrorDetail detail;
  detail.op = std::string(op.name);
  detail.reason = "it is not a step of a reshard";
  base::ThrowInternal(std::move(detail));
}

bool IsStep(const ir::Instruction& i, StepKind kind) { return i.op == &OpOf(kind); }

ir::ExpandFn MaskOp() { return std::get<ir::AsExpansion>(*ops::kMaskPadding.lowering).expand; }

}  // namespace tessera::spmd

// Emits the steps of reshard plans, with the padding that uneven dims need.
#include "spmd/lower/reshard_emitter.h"

#include <absl/algorithm/container.h>

#include "ir/move_params.h"
#include "spmd/local_type.h"
#include "spmd/lower/op_partition.h"
#include "spmd/moves.h"

namespace tessera::spmd {

using sharding::StepKind;

ir::ValueId ReshardEmitter::Emit(ir::ValueId v, const ir::Type* to, MoveCause cause, Loc loc) {
  const ir::Type* from = draft_.Place(v);
  if (from == to || from->sharding() == to->sharding()) return v;
  const bool implied = cause == MoveCause::kImplied;
  for (const sharding::ReshardStep& step : StepsBetween(from, to)) {
    const ir::Type* after = ir::Type::Get(from->shape(), from->dtype(), step.after);
    const ir::Cost local{.implied = implied};
    const ir::Cost cost{.bytes = step.bytes, .axes = step.axes, .implied = implied};
    const ir::OpDef& op = OpOf(step.kind);
    if (step.kind == StepKind::kAllSlice || step.kind == StepKind::kAllToAll)
      v = EmitStep(OpOf(StepKind::kPadToShards), v, Padded(draft_.Place(v), step.after), local,
                   loc);
    if (step.kind == StepKind::kAllGather || step.kind == StepKind::kAllToAll) {
      v = EmitStep(op, v, Padded(after, draft_.Place(v)->sharding()), cost, loc);
      v = EmitStep(OpOf(StepKind::kTrim), v, after, local, loc);
    } else {
      v = EmitStep(op, v, after, cost, loc);
    }
  }
  return v;
}

ir::ValueId ReshardEmitter::EmitStep(const ir::OpDef& op, ir::ValueId v, const ir::Type* to,
                                     const ir::Cost& cost, Loc loc) {
  const ir::Type* from = draft_.Place(v);
  if (from == to) return v;
  const ir::ValueId next = draft_.AddValue(to, loc);
  draft_.Emit({.op = &op,
               .params = ir::MakeParams(ir::MoveParams{.from = from, .to = to}),
               .operands = {v},
               .results = {next},
               .loc = loc,
               .cost = Costing(cost)});
  return next;
}

bool ReshardEmitter::OnlySlices(const ir::Type* from, const ir::Type* to) {
  const std::vector<sharding::ReshardStep>& steps = StepsBetween(from, to);
  return !steps.empty() &&
         absl::c_all_of(steps, [](const auto& step) { return step.kind == StepKind::kAllSlice; });
}

const std::vector<sharding::ReshardStep>& ReshardEmitter::StepsBetween(const ir::Type* from,
                                                                       const ir::Type* to) {
  const auto [it, is_new] = steps_.try_emplace(std::pair(from, to));
  if (is_new)
    it->second =
        sharding::PlanReshard(from->shape(), sharding::ItemSize::OfBits(from->dtype().bits()),
                              from->sharding(), to->sharding());
  return it->second;
}

}  // namespace tessera::spmd

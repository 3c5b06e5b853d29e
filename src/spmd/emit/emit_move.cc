// Finds both ends of a move in memory, and makes the exchange between them.
#include "spmd/emit/emit_move.h"

#include "base/error.h"
#include "base/shape.h"
#include "spmd/emit/exchange.h"
#include "spmd/emit/local_reshard.h"
#include "spmd/moves.h"
#include "spmd/schedule/fused_desc.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

// Whether no device needs data of another device.
bool IsLocal(StepKind kind) {
  return kind == StepKind::kAllSlice || kind == StepKind::kReplicatedToUnreduced ||
         kind == StepKind::kShardedToUnreduced || kind == StepKind::kPadToShards ||
         kind == StepKind::kTrim || kind == StepKind::kCopyToEach;
}

// A move's operands and result in memory.
struct MoveEnds {
  std::vector<plan::PlanValueId> in;
  std::vector<MoveEnd> from;
  ValueId out;
  MoveEnd to;
};

// Returns an end whose elements are stored densely, in the order of v.
MoveEnd DenseEnd(ProgramEmitter& emitter, ValueId v, plan::PlanLayoutId layout) {
  return {.type = emitter.program().place(v),
          .layout = &emitter.plan().layout(layout),
          .strides = base::DenseStrides(emitter.program().type(v)->shape())};
}

// Adds an operand. If the move computes it or reads it out of another value, that value is in
// memory instead.
void AddOperandEnd(ProgramEmitter& emitter, const MoveItem& item, ValueId v, MoveEnds& ends) {
  const auto read = item.reads.find(v);
  ValueId stored = v;
  if (item.computes && item.computes->out[0] == v) stored = item.computes->in[0];
  if (read != item.reads.end()) stored = read->second[0].source;
  ends.in.push_back(emitter.ValueOf(stored));
  const plan::PlanLayoutId layout = emitter.plan().value(ends.in.back()).layout;
  MoveEnd& end = ends.from.emplace_back(DenseEnd(emitter, v, layout));
  if (read == item.reads.end()) return;
  const ReadPart& part = read->second[0];
  plan::FusedDesc::Part desc = PartDesc(part, emitter.program().type(part.source)->shape());
  end.strides = std::move(desc.strides);
  end.offset = desc.offset;
}

MoveEnds EndsOf(ProgramEmitter& emitter, const MoveItem& item, const Instruction& move) {
  const ValueId result = move.results[0];
  MoveEnds ends{.in = {}, .from = {}, .out = result, .to = {}};
  for (ValueId v : move.operands) AddOperandEnd(emitter, item, v, ends);
  ends.to = DenseEnd(emitter, result, emitter.LayoutOf(result));
  if (item.computes && item.computes->in[0] == result) ends.out = item.computes->out[0];
  if (!item.stored) return ends;
  ends.out = item.out[0];
  const std::vector<int64_t> dense = base::DenseStrides(emitter.program().type(ends.out)->shape());
  for (size_t d = 0; d < ends.to.strides.size(); ++d) {
    const int32_t dim = item.stored->dims[d].dim;
    ends.to.strides[d] = dim < 0 ? 0 : base::At(dense, dim);
  }
  return ends;
}

void EmitLocalMove(ProgramEmitter& emitter, ValueId in, ValueId out) {
  PlanParts& plan = emitter.plan();
  const KernelFactories::DeviceCopy copy = LocalMove(emitter.program(), in, out, plan.devices());
  plan::Step step{.kernel = plan.kernels().device_copy(copy),
                  .layout = emitter.LayoutOf(out),
                  .in = {emitter.ValueOf(in)},
                  .out = {},
                  .note = emitter.note()};
  if (copy.fill) step.in.push_back(plan.Zero());
  emitter.AddStep(std::move(step), {out});
}

plan::Exchange ExchangeBetween(const MoveEnds& ends, const Instruction& move,
                               const KernelFactories& kernels) {
  const ir::Params* params = move.params.get();
  if (std::holds_alternative<ir::AsPermute>(*move.op->lowering))
    return MakePermutation(ends.from[0], ends.to, kernels, ir::As<ops::PermuteParams>(params));
  const bool is_halo = KindOf(*move.op) == StepKind::kHaloExchange;
  return MakeExchange(ends.from, ends.to, kernels,
                      is_halo ? &ir::As<ir::HaloParams>(params) : nullptr);
}

}  // namespace

void EmitMoves(ProgramEmitter& emitter, const MoveItem& item) {
  for (InstructionId i : item.instructions) {
    const Instruction& move = InstructionAt(emitter.program(), i);
    emitter.SetNote(move);
    if (IsLocal(KindOf(*move.op))) {
      EmitLocalMove(emitter, move.operands[0], move.results[0]);
      continue;
    }
    if (emitter.plan().runner().is_one_device())
      base::ThrowInternal(
          base::Refusal(std::string(move.op->name), "alone", base::Where(move.loc),
                        "it is inside a loop or branch that devices run independently"));
    MoveEnds ends = EndsOf(emitter, item, move);
    const KernelFactories& kernels = emitter.plan().kernels();
    plan::Exchange e = ExchangeBetween(ends, move, kernels);
    if (item.computes)
      ComputeOnTheWay(DescribeFused(emitter.program(), *item.computes), ends.to, kernels, e);
    e.in = std::move(ends.in);
    e.out = emitter.Define(ends.out);
    e.note = emitter.note();
    e.joined = i != item.instructions[0];
    emitter.AddNode(std::move(e));
  }
}

}  // namespace tessera::spmd

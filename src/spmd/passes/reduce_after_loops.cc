// Finds carried values whose next value is linear in them and in reduced values that nothing else
// reads, and carries partial values in their place.
#include "spmd/passes/reduce_after_loops.h"

#include <absl/algorithm/container.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/at.h"
#include "base/ids.h"
#include "ir/infer.h"
#include "ir/move_params.h"
#include "ir/uses.h"
#include "sharding/reshard.h"
#include "spmd/cost.h"
#include "spmd/local_type.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using ir::FlowEdge;
using ir::FlowEnd;
using ir::Instruction;
using ir::InstructionId;
using ir::ValueId;
using sharding::StepKind;

bool IsLoop(const Instruction& i) {
  const auto* regions = std::get_if<ir::AsRegions>(&*i.op->lowering);
  return regions && !i.regions.empty() && regions->kind != ir::AsRegions::kSwitch;
}

std::vector<FlowEdge> EdgesOf(const Instruction& loop) {
  return std::get<ir::DataFlowEdges>(*loop.op->dims)
      .edges({loop.params.get(), loop.operands.size(), loop.regions});
}
// Whether the edge is a value that each iteration passes to the next.
bool IsCarried(const FlowEdge& edge) {
  return edge.owner.kind == FlowEnd::kResult && !edge.stacked && edge.sources.size() == 2;
}

using ir::kNoInstruction;
using ir::kNoValue;

base::IdVector<ValueId, int> CountUses(const ir::Program& p) {
  base::IdVector<ValueId, int> uses(p.values.size(), 0);
  for (ValueId v : p.outputs) ++uses[v];
  for (const Instruction& i : p.instructions)
    for (ValueId v : i.operands) ++uses[v];
  return uses;
}

// A reduction over some axes.
struct ReducedOver {
  sharding::AxisList axes;
  Reduction kind = Reduction::kSum;
  friend bool operator==(const ReducedOver&, const ReducedOver&) = default;
};

// Returns the place of partial values that are reduced to `place`; null if there is none.
const ir::Type* PartialPlace(const ir::Type* place, const ReducedOver& over) {
  sharding::TensorSharding s = place->sharding();
  if (!s.unreduced.empty() && s.kind != over.kind) return nullptr;
  for (sharding::AxisPart a : over.axes)
    if (OverlapsAny(s.unreduced, a)) return nullptr;
  sharding::AddTo(s.unreduced, over.axes);
  s.kind = over.kind;
  return sharding::Verify(s) ? nullptr : place->WithSharding(std::move(s));
}

// Returns the reduction of an all_reduce.
std::optional<ReducedOver> ReducedBy(const Instruction& i) {
  if (!IsStep(i, StepKind::kAllReduce)) return {};
  const auto& move = ir::As<ir::MoveParams>(i.params.get());
  const sharding::TensorSharding& from = move.from->sharding();
  return ReducedOver{sharding::Difference(from.unreduced, move.to->sharding().unreduced),
                     from.kind};
}

// A value that becomes partial, and its place then.
struct PartialValue {
  ValueId value;
  const ir::Type* place;
};

// How the body of a loop computes the next value of a carried value, if its reductions can follow
// the loop.
class Carried {
 public:
  Carried(const ir::Program& body, ValueId value, ValueId next)
      : body_(body),
        value_(value),
        uses_(CountUses(body)),
        made_by_(body.values.size(), kNoInstruction) {
    if (next == value || uses_[value] != 1) return;
    for (InstructionId i : InstructionIds(body))
      for (ValueId v : InstructionAt(body, i).results) made_by_[v] = i;
    for (const Instruction& i : body.instructions) {
      over_ = ReducedBy(i);
      if (!over_ || !PartialPlace(body.place(value), *over_)) continue;
      if (IsLinear(next) && !reductions_.empty() && !linear_.empty() &&
          linear_.front().value == value)
        return;
      reductions_.clear();
      linear_.clear();
    }
    over_.reset();
  }

  // Returns the axes of the reductions that can follow the loop, or nullopt if there are none.
  const std::optional<ReducedOver>& over() const { return over_; }
  // Returns the instructions that are removed: these reductions, and the instructions that make
  // partial values of the carried value for inner loops.
  const std::vector<InstructionId>& reductions() const { return reductions_; }
  // Returns the values that become partial.
  const std::vector<PartialValue>& linear() const { return linear_; }

 private:
  // Whether v is linear in the carried value and such reductions, and nothing else reads these.
  bool IsLinear(ValueId v) {
    if (uses_[v] != 1 || depth_ == kDeepest) return false;
    if (v == value_) {
      linear_.insert(linear_.begin(), {v, PartialPlace(body_.place(v), *over_)});
      return true;
    }
    const InstructionId at = made_by_[v];
    if (at == kNoInstruction) return false;
    const Instruction& i = InstructionAt(body_, at);
    if (ReducedBy(i) == over_) {
      reductions_.push_back(at);
      ++depth_;
      const InstructionId start = StartOf(i.operands[0]);
      --depth_;
      if (start != kNoInstruction) reductions_.push_back(start);
      return true;
    }
    const size_t reductions = reductions_.size();
    const std::vector<PartialValue> linear = linear_;
    ++depth_;
    const bool is_linear = IsLinearOp(i);
    --depth_;
    if (is_linear) return true;
    reductions_.resize(reductions);
    linear_ = linear;
    return false;
  }

  // Returns the instruction that makes a partial value of the carried one, if `v` is a sum
  // of it and of other partial values, or if an inner loop carries such a sum. Otherwise
  // returns kNoInstruction.
  InstructionId StartOf(ValueId v) {
    const InstructionId at = made_by_[v];
    if (at == kNoInstruction || uses_[v] != 1 || depth_ == kDeepest) return kNoInstruction;
    const Instruction& i = InstructionAt(body_, at);
    if (IsStep(i, StepKind::kReplicatedToUnreduced))
      return IsLinear(i.operands[0]) ? at : kNoInstruction;
    if (IsLoop(i)) return StartOfLoop(i, v);
    if (!std::holds_alternative<ir::AsElementwise>(*i.op->lowering) || !IsJointlyLinear(i))
      return kNoInstruction;
    InstructionId start = kNoInstruction;
    ++depth_;
    for (size_t k = 0; k < i.operands.size() && start == kNoInstruction; ++k)
      start = StartOf(i.operands[k]);
    --depth_;
    return start;
  }
  InstructionId StartOfLoop(const Instruction& loop, ValueId v) {
    for (const FlowEdge& edge : EdgesOf(loop))
      if (IsCarried(edge) && base::At(loop.results, edge.owner.index) == v &&
          edge.sources[0].kind == FlowEnd::kOperand)
        return StartOf(base::At(loop.operands, edge.sources[0].index));
    return kNoInstruction;
  }
  // Whether the op is jointly linear in its operands.
  bool IsJointlyLinear(const Instruction& i) const {
    return absl::c_any_of(LinearGroupsOf(i), [&](const sharding::LinearGroup& group) {
      return group.operands.size() == i.operands.size();
    });
  }
  const std::vector<sharding::LinearGroup>& LinearGroupsOf(const Instruction& i) const {
    absl::InlinedVector<const ir::Type*, 3> places;
    for (ValueId v : i.operands) places.push_back(body_.place(v));
    const ir::Type* place = body_.place(i.results[0]);
    return ir::LinearGroupsOf(*i.op, i.params, places, {&place, 1});
  }

  // Whether some operands are linear, and the op is jointly linear in just these. The other ones
  // are the same on all devices over which the sums are partial.
  bool IsLinearOp(const Instruction& i) {
    if (i.results.size() != 1 || !i.regions.empty() || i.op->effect != ir::Effect::kNone)
      return false;
    const ir::Type* partial = PartialPlace(body_.place(i.results[0]), *over_);
    if (!partial) return false;
    absl::InlinedVector<int32_t, 2> linear;
    for (size_t k = 0; k < i.operands.size(); ++k)
      if (IsLinear(i.operands[k]))
        linear.push_back(static_cast<int32_t>(k));
      else if (!PartialPlace(body_.place(i.operands[k]), *over_))
        return false;
    if (linear.empty()) return false;
    linear_.push_back({i.results[0], partial});
    return absl::c_any_of(LinearGroupsOf(i), [&](const sharding::LinearGroup& group) {
      return group.operands == linear && group.kinds.has(over_->kind);
    });
  }

  const ir::Program& body_;
  const ValueId value_;
  base::IdVector<ValueId, int> uses_;
  base::IdVector<ValueId, InstructionId> made_by_;
  static constexpr int kDeepest = 100;
  int depth_ = 0;
  std::optional<ReducedOver> over_;
  std::vector<InstructionId> reductions_;
  std::vector<PartialValue> linear_;  // the carried value comes first, if it is one of them
};

class LoopReducer {
 public:
  explicit LoopReducer(ir::Program& device) : program_(device) {}

  void Run() {
    std::vector<Instruction> from = std::move(program_.instructions);
    program_.instructions.clear();
    for (Instruction& i : from) {
      std::vector<Instruction> after;
      if (IsLoop(i)) {
        const Times times = TimesOf(i);
        if (times.times > 1 || !times.known) after = ReduceAfter(i);
      }
      program_.instructions.push_back(std::move(i));
      for (Instruction& move : after) program_.instructions.push_back(std::move(move));
    }
  }

 private:
  // Takes reductions out of the loop, and returns them.
  std::vector<Instruction> ReduceAfter(Instruction& loop) {
    std::vector<Instruction> after;
    for (const FlowEdge& edge : EdgesOf(loop))
      if (IsCarried(edge))
        if (std::optional<Instruction> move = ReduceAfter(loop, edge))
          after.push_back(std::move(*move));
    return after;
  }

  std::optional<Instruction> ReduceAfter(Instruction& loop, const FlowEdge& edge) {
    const FlowEnd &start = edge.sources[0], &next = edge.sources[1];
    if (start.kind != FlowEnd::kOperand || next.kind != FlowEnd::kRegionOutput) return {};
    ValueId value = kNoValue;
    for (const FlowEnd& end : edge.targets) {
      const ir::Program& region = *base::At(loop.regions, end.region);
      const ValueId input = base::At(region.inputs, end.index);
      if (end.region == next.region)
        value = input;
      else if (CountUses(region)[input] > 0)
        return {};
    }
    const ir::Program& body = *base::At(loop.regions, next.region);
    if (value == kNoValue) return {};
    const Carried carried(body, value, base::At(body.outputs, next.index));
    if (!carried.over()) return {};
    const ir::Type* whole = body.place(value);
    const ir::MoveParams move{.from = PartialPlace(whole, *carried.over()), .to = whole};
    std::optional<Instruction> after = ReductionAfter(loop, body, carried, move);
    if (!after) return {};
    Carry(loop, edge, carried);
    ValueId& start_value = loop.operands[base::Size(start.index)];
    start_value = Partial(start_value, move, loop.loc);
    ValueId& result = loop.results[base::Size(edge.owner.index)];
    after->results = {std::exchange(result, AddPlace(program_, move.from, loop.loc))};
    after->operands = {result};
    return after;
  }

  // Returns the reduction after the loop; nothing unless it sends a quarter less than those inside:
  // slices that the loop stacks send as much, but for rounding.
  static std::optional<Instruction> ReductionAfter(const Instruction& loop, const ir::Program& body,
                                                   const Carried& carried,
                                                   const ir::MoveParams& move) {
    const Instruction* first = nullptr;
    int64_t inside = 0;
    for (InstructionId at : carried.reductions()) {
      const Instruction& i = InstructionAt(body, at);
      if (!ReducedBy(i)) continue;
      if (!first) first = &i;
      inside += i.cost->bytes;
    }
    const auto plan =
        sharding::PlanReshard(move.to->shape(), sharding::ItemSize::OfBits(move.to->dtype().bits()),
                              move.from->sharding(), move.to->sharding());
    const Times times = TimesOf(loop);
    if (plan.size() != 1 || plan[0].kind != StepKind::kAllReduce ||
        (times.known && 4 * plan[0].bytes > 3 * inside * times.times))
      return {};
    Instruction after = *first;
    after.params = ir::MakeParams(move);
    after.cost = std::make_shared<const ir::Cost>(
        ir::Cost{.bytes = plan[0].bytes, .axes = plan[0].axes, .implied = first->cost->implied});
    return after;
  }

  static ValueId AddPlace(ir::Program& p, const ir::Type* place, Loc loc) {
    return p.AddValue(LocalType(place), loc, place);
  }

  // One device has the value, and the others have zeros.
  ValueId Partial(ValueId v, const ir::MoveParams& move, Loc loc) {
    const ValueId partial = AddPlace(program_, move.from, loc);
    program_.instructions.push_back(
        {.op = &OpOf(StepKind::kReplicatedToUnreduced),
         .params = ir::MakeParams(ir::MoveParams{.from = move.to, .to = move.from}),
         .operands = {v},
         .results = {partial},
         .loc = loc,
         .cost = std::make_shared<const ir::Cost>()});
    return partial;
  }

  // Makes the regions carry partial values.
  static void Carry(Instruction& loop, const FlowEdge& edge, const Carried& carried) {
    const ir::Type* partial = carried.linear().front().place;
    const int32_t body = edge.sources[1].region;
    for (const FlowEnd& end : edge.targets) {
      ir::RegionPtr& region = loop.regions[base::Size(end.region)];
      ir::Program made = *region;
      made.SetPlace(base::At(made.inputs, end.index), partial);
      if (end.region == body) {
        for (const PartialValue& v : carried.linear()) made.SetPlace(v.value, v.place);
        DropReductions(made, carried.reductions());
      }
      region = std::make_shared<const ir::Program>(std::move(made));
    }
  }

  static void DropReductions(ir::Program& body, const std::vector<InstructionId>& reductions) {
    base::IdVector<ValueId, ValueId> operand_of(body.values.size(), kNoValue);
    for (InstructionId at : reductions) {
      const Instruction& i = InstructionAt(body, at);
      operand_of[i.results[0]] = i.operands[0];
    }
    // The operand may be a reduction that is removed too: the next loop begins with its sum.
    const auto replace = [&](ValueId& v) {
      while (operand_of[v] != kNoValue) v = operand_of[v];
    };
    for (Instruction& i : body.instructions) absl::c_for_each(i.operands, replace);
    absl::c_for_each(body.outputs, replace);
    ir::RemoveDead(body);
  }

  ir::Program& program_;
};

}  // namespace

void ReduceAfterLoops(ir::Program& device) { LoopReducer(device).Run(); }

}  // namespace tessera::spmd

// Visits linear ops of reduced operands in order, so that a sum of many terms is reduced once.
#include "spmd/passes/reduce_after_sums.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>

#include "base/ids.h"
#include "ir/infer.h"
#include "ir/move_params.h"
#include "sharding/reshard.h"
#include "spmd/local_type.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

bool Reduces(const Instruction& i) {
  return IsStep(i, StepKind::kAllReduce) || IsStep(i, StepKind::kReduceScatter);
}

// The one reduction that defines a value, or that could replace the reductions of its terms. One
// instruction reads the value.
struct FinalReduction {
  StepKind kind;
  ir::MoveParams move;
  int reductions = 1;  // the reductions that it replaces
  int depth = 0;       // of the ops after these reductions
};

// Returns the place from which one reduction replaces both: it is unreduced over the axes of both,
// as each term counts on one device along the axes of the other. Null if there is none.
const ir::Type* StartOfBoth(const FinalReduction& a, const FinalReduction& b) {
  if (a.kind != b.kind || a.move.to != b.move.to) return nullptr;
  if (a.move.from == b.move.from) return a.move.from;
  sharding::TensorSharding both = a.move.from->sharding(), other = b.move.from->sharding();
  if (a.kind != StepKind::kAllReduce || both.kind != Reduction::kSum) return nullptr;
  sharding::AddTo(both.unreduced, other.unreduced);
  other.unreduced = both.unreduced;
  if (both != other || sharding::Verify(both)) return nullptr;
  const ir::Type* from = a.move.from->WithSharding(std::move(both));
  const auto plan =
      sharding::PlanReshard(from->shape(), sharding::ItemSize::OfBits(from->dtype().bits()),
                            from->sharding(), a.move.to->sharding());
  return plan.size() == 1 && plan[0].kind == StepKind::kAllReduce ? from : nullptr;
}

class SumReducer {
 public:
  explicit SumReducer(ir::Program& device)
      : program_(device),
        made_by_(device.values.size(), ir::kNoInstruction),
        uses_(device.values.size(), 0) {
    for (ValueId v : device.outputs) ++uses_[v];
    for (const Instruction& i : device.instructions)
      for (ValueId v : i.operands) ++uses_[v];
  }

  void Run() {
    std::vector<Instruction> from = std::move(program_.instructions);
    program_.instructions.clear();
    for (Instruction& i : from) {
      const std::optional<FinalReduction> sum = ReductionAfter(i);
      if (sum && sum->reductions > 1) {
        ReduceAfter(i, *sum);
        continue;
      }
      if (sum) waiting_.emplace(i.results[0], *sum);
      Add(std::move(i));
    }
  }

 private:
  static constexpr int kDeepest = 100;

  void Add(Instruction i) {
    made_by_.resize(program_.values.size(), ir::kNoInstruction);
    if (i.results.size() == 1) made_by_[i.results[0]] = NextInstruction(program_);
    program_.instructions.push_back(std::move(i));
  }
  const Instruction* MakerOf(ValueId v) const {
    const ir::InstructionId at = made_by_[v];
    return at == ir::kNoInstruction ? nullptr : &InstructionAt(program_, at);
  }
  std::optional<FinalReduction> ReductionOf(ValueId v) const {
    if (uses_[v] != 1) return {};
    if (const auto it = waiting_.find(v); it != waiting_.end()) return it->second;
    const Instruction* made = MakerOf(v);
    if (!made || !Reduces(*made)) return {};
    return FinalReduction{KindOf(*made->op), ir::As<ir::MoveParams>(made->params.get())};
  }

  // Returns the one reduction after a jointly linear op that can replace the reductions of its
  // operands. An operand that is not reduced must be whole, and counts on one device.
  std::optional<FinalReduction> ReductionAfter(const Instruction& i) const {
    if (!std::holds_alternative<ir::AsElementwise>(*i.op->lowering) || i.operands.size() < 2)
      return {};
    std::optional<FinalReduction> sum;
    bool whole = false;
    for (ValueId v : i.operands) {
      const std::optional<FinalReduction> one = ReductionOf(v);
      whole = whole || !one;
      if (!one) continue;
      if (!sum) {
        sum = one;
        continue;
      }
      sum->move.from = StartOfBoth(*sum, *one);
      if (!sum->move.from) return {};
      sum->reductions += one->reductions;
      sum->depth = std::max(sum->depth, one->depth);
    }
    if (!sum || ++sum->depth > kDeepest || program_.place(i.results[0]) != sum->move.to) return {};
    if (whole && !MayAddWhole(i, *sum)) return {};
    return IsJointlyLinear(i, sum->move.from->sharding().kind) ? sum : std::nullopt;
  }
  bool MayAddWhole(const Instruction& i, const FinalReduction& sum) const {
    return sum.kind == StepKind::kAllReduce && sum.move.from->sharding().kind == Reduction::kSum &&
           absl::c_all_of(i.operands, [&](ValueId v) { return program_.place(v) == sum.move.to; });
  }
  bool IsJointlyLinear(const Instruction& i, Reduction kind) const {
    absl::InlinedVector<const ir::Type*, 3> places;
    for (ValueId v : i.operands) places.push_back(program_.place(v));
    const ir::Type* result = program_.place(i.results[0]);
    const auto& groups = ir::LinearGroupsOf(*i.op, i.params, places, {&result, 1});
    return absl::c_any_of(groups, [&](const sharding::LinearGroup& group) {
      return group.operands.size() == i.operands.size() && group.kinds.has(kind);
    });
  }

  void ReduceAfter(const Instruction& i, const FinalReduction& sum) {
    ir::Cost cost{.implied = true};
    const ValueId result = i.results[0];
    const Instruction partial = PartialOf(i, sum.move.from, cost);
    const auto plan = sharding::PlanReshard(sum.move.to->shape(),
                                            sharding::ItemSize::OfBits(sum.move.to->dtype().bits()),
                                            sum.move.from->sharding(), sum.move.to->sharding());
    for (const sharding::ReshardStep& step : plan) cost.bytes += step.bytes, cost.axes = step.axes;
    Add(partial);
    Add({.op = &OpOf(sum.kind),
         .params = ir::MakeParams(sum.move),
         .operands = {partial.results[0]},
         .results = {result},
         .loc = i.loc,
         .cost = std::make_shared<const ir::Cost>(std::move(cost))});
  }

  // Returns the op on unreduced terms. `cost` is not implied if the user asked for a reduction of
  // one of them.
  Instruction PartialOf(Instruction i, const ir::Type* place, ir::Cost& cost) {
    for (ValueId& v : i.operands) v = TermsOf(v, place, cost);
    i.results = {NewValue(place, i.loc)};
    return i;
  }
  ValueId TermsOf(ValueId v, const ir::Type* place, ir::Cost& cost) {
    const Instruction* made = ReductionOf(v) ? MakerOf(v) : nullptr;
    if (made && !Reduces(*made)) {
      Instruction partial = PartialOf(*made, place, cost);
      Add(partial);
      return partial.results[0];
    }
    const Loc loc = made ? made->loc : program_.values[v].loc;
    if (made) {
      cost.implied = cost.implied && made->cost->implied;
      v = made->operands[0];
    }
    const ir::Type* from = program_.place(v);
    if (from == place) return v;
    const ValueId terms = NewValue(place, loc);
    Add({.op = &OpOf(StepKind::kReplicatedToUnreduced),
         .params = ir::MakeParams(ir::MoveParams{.from = from, .to = place}),
         .operands = {v},
         .results = {terms},
         .loc = loc,
         .cost = std::make_shared<const ir::Cost>(ir::Cost{.implied = true})});
    return terms;
  }
  ValueId NewValue(const ir::Type* place, Loc loc) {
    const ValueId v = program_.AddValue(LocalType(place), loc, place);
    uses_.resize(program_.values.size(), 1);
    return v;
  }

  ir::Program& program_;
  base::IdVector<ValueId, ir::InstructionId> made_by_;  // the instruction with this result alone
  base::IdVector<ValueId, int> uses_;
  // Sums of one reduction and whole terms. They stay as they are, unless a later sum reads them.
  absl::flat_hash_map<ValueId, FinalReduction> waiting_;
};

}  // namespace

void ReduceAfterSums(ir::Program& device) { SumReducer(device).Run(); }

}  // namespace tessera::spmd

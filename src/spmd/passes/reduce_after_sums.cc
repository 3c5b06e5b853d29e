// Finds linear ops of reduced operands, first to last, so that a sum of many terms is reduced once.
#include "spmd/passes/reduce_after_sums.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <optional>

#include "base/at.h"
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
  return i.op == &OpOf(StepKind::kAllReduce) || i.op == &OpOf(StepKind::kReduceScatter);
}

// How a value that is read once is reduced, or could be.
struct JoinedSum {
  const ir::OpDef* op;
  ir::MoveParams move;
  int reductions = 1;  // so many are done for it now
  int depth = 0;       // of the ops behind the reductions
};

// Reductions to one place over any axes are one over all of these: each term then counts on one
// device along the others' axes. Returns its start; null if there is none.
const ir::Type* StartOfBoth(const JoinedSum& a, const JoinedSum& b) {
  if (a.op != b.op || a.move.to != b.move.to) return nullptr;
  if (a.move.from == b.move.from) return a.move.from;
  sharding::TensorSharding both = a.move.from->sharding(), other = b.move.from->sharding();
  if (a.op != &OpOf(StepKind::kAllReduce) || both.kind != Reduction::kSum) return nullptr;
  sharding::AddTo(both.unreduced, other.unreduced);
  other.unreduced = both.unreduced;
  if (both != other || sharding::Verify(both)) return nullptr;
  const ir::Type* from = a.move.from->WithSharding(std::move(both));
  const auto plan = sharding::PlanReshard(from->shape(), from->dtype().size(), from->sharding(),
                                          a.move.to->sharding());
  return plan.size() == 1 && plan[0].kind == StepKind::kAllReduce ? from : nullptr;
}

class Joiner {
 public:
  explicit Joiner(ir::Program& device)
      : program_(device), made_by_(device.values.size(), -1), uses_(device.values.size()) {
    for (ValueId v : device.outputs) ++base::At(uses_, v);
    for (const Instruction& i : device.instructions)
      for (ValueId v : i.operands) ++base::At(uses_, v);
  }

  void Run() {
    std::vector<Instruction> from = std::move(program_.instructions);
    program_.instructions.clear();
    for (Instruction& i : from) {
      const std::optional<JoinedSum> sum = SumOf(i);
      if (sum && sum->reductions > 1) {
        Join(i, *sum);
        continue;
      }
      if (sum) waiting_.emplace(i.results[0], *sum);
      Add(std::move(i));
    }
  }

 private:
  // A sum of one reduction and what is whole is left as it is, unless a later sum has another.
  static constexpr int kDeepest = 100;

  void Add(Instruction i) {
    made_by_.resize(program_.values.size(), -1);
    if (i.results.size() == 1)
      base::At(made_by_, i.results[0]) = static_cast<int32_t>(program_.instructions.size());
    program_.instructions.push_back(std::move(i));
  }
  const Instruction* MakerOf(ValueId v) const {
    const int32_t at = base::At(made_by_, v);
    return at < 0 ? nullptr : &base::At(program_.instructions, at);
  }
  std::optional<JoinedSum> ReducedAs(ValueId v) const {
    if (base::At(uses_, v) != 1) return {};
    if (const auto it = waiting_.find(v); it != waiting_.end()) return it->second;
    const Instruction* made = MakerOf(v);
    if (!made || !Reduces(*made)) return {};
    return JoinedSum{made->op, ir::As<ir::MoveParams>(made->params.get())};
  }

  // Returns the one reduction that could stand behind an op which is jointly linear in its
  // operands: each is reduced, or is whole and counts on one device.
  std::optional<JoinedSum> SumOf(const Instruction& i) const {
    if (!std::holds_alternative<ir::AsElementwise>(*i.op->lowering) || i.operands.size() < 2)
      return {};
    std::optional<JoinedSum> sum;
    bool whole = false;
    for (ValueId v : i.operands) {
      const std::optional<JoinedSum> one = ReducedAs(v);
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
  bool MayAddWhole(const Instruction& i, const JoinedSum& sum) const {
    return sum.op == &OpOf(StepKind::kAllReduce) &&
           sum.move.from->sharding().kind == Reduction::kSum &&
           std::all_of(i.operands.begin(), i.operands.end(),
                       [&](ValueId v) { return program_.place(v) == sum.move.to; });
  }
  bool IsJointlyLinear(const Instruction& i, Reduction kind) const {
    absl::InlinedVector<const ir::Type*, 3> places;
    for (ValueId v : i.operands) places.push_back(program_.place(v));
    const ir::Type* result = program_.place(i.results[0]);
    const auto& groups = ir::LinearGroupsOf(*i.op, i.params, places, {&result, 1});
    return std::any_of(groups.begin(), groups.end(), [&](const sharding::LinearGroup& group) {
      return group.operands.size() == i.operands.size() && group.kinds.has(kind);
    });
  }

  void Join(Instruction& i, const JoinedSum& sum) {
    ir::Cost cost{.implied = true};
    const ValueId result = i.results[0];
    const Instruction partial = PartialOf(i, sum.move.from, cost);
    const auto plan = sharding::PlanReshard(sum.move.to->shape(), sum.move.to->dtype().size(),
                                            sum.move.from->sharding(), sum.move.to->sharding());
    for (const sharding::ReshardStep& step : plan) cost.bytes += step.bytes, cost.axes = step.axes;
    Add(partial);
    Add({.op = sum.op,
         .params = ir::MakeParams(sum.move),
         .operands = {partial.results[0]},
         .results = {result},
         .loc = i.loc,
         .cost = std::make_shared<const ir::Cost>(std::move(cost))});
  }

  // Returns the op of terms that are not reduced yet. `cost` learns whether a reduction of one of
  // them is asked for.
  Instruction PartialOf(Instruction i, const ir::Type* place, ir::Cost& cost) {
    for (ValueId& v : i.operands) v = TermsOf(v, place, cost);
    i.results = {NewValue(place, i.loc)};
    return i;
  }
  ValueId TermsOf(ValueId v, const ir::Type* place, ir::Cost& cost) {
    const Instruction* made = ReducedAs(v) ? MakerOf(v) : nullptr;
    if (made && !Reduces(*made)) {
      Instruction partial = PartialOf(*made, place, cost);
      Add(partial);
      return partial.results[0];
    }
    const Loc loc = made ? made->loc : base::At(program_.values, v).loc;
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
  std::vector<int32_t> made_by_;  // per value: the instruction that makes it alone, or -1
  std::vector<int> uses_;         // per value
  absl::flat_hash_map<ValueId, JoinedSum> waiting_;  // what one reduction could stand behind
};

}  // namespace

void JoinReductions(ir::Program& device) { Joiner(device).Run(); }

}  // namespace tessera::spmd

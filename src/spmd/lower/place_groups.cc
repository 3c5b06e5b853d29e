// Marks values from the moves outwards, and joins them along ops that keep shapes.
#include "spmd/lower/place_groups.h"

#include <absl/algorithm/container.h>

#include <optional>

#include "sharding/local.h"
#include "spmd/local_type.h"
#include "spmd/value_sets.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::Type;
using ir::ValueId;
using ValueMarks = base::IdVector<ValueId, bool>;

// Whether the op does little work compared with moving its operands.
bool IsLightOp(const Instruction& i) {
  return IsReshard(i) || IsElementwise(i) ||
         std::holds_alternative<ir::AsReduction>(*i.op->lowering) ||
         (IsPartitioned(i) && i.op->flops_per_point == 0);
}
bool IsPure(const Instruction& i) { return !i.op->opaque && i.op->effect == ir::Effect::kNone; }

bool Moves(const ir::Program& program, const Instruction& i) {
  if (!IsReshard(i) && !IsElementwise(i)) return false;
  const Type* to = PlaceIn(program, i.results[0]);
  return absl::c_any_of(i.operands, [&](ValueId v) {
    const Type* from = PlaceIn(program, v);
    return from != to && from->shape() == to->shape() && from->sharding() != to->sharding();
  });
}

// Returns the values around moves. Light ops pass the mark on in both directions.
ValueMarks NearMoves(const ir::Program& program) {
  ValueMarks near(program.values.size());
  const auto mark = [&](const Instruction& i, const auto& from, const auto& to) {
    const auto is_near = [&](ValueId v) { return bool{near[v]}; };
    if (Moves(program, i) || (IsLightOp(i) && absl::c_any_of(from, is_near)))
      for (ValueId v : to) near[v] = true;
  };
  for (const Instruction& i : program.instructions) mark(i, i.operands, i.results);
  for (ir::InstructionId at : base::Reversed(InstructionIds(program))) {
    const Instruction& i = InstructionAt(program, at);
    mark(i, i.results, i.operands);
  }
  return near;
}

// Returns the decision on an op that leaves partial sums in the places of its types, else null.
std::shared_ptr<const Decision> SplitOf(const Instruction& i, PlaceTrial& trial) {
  if (!IsPartitioned(i) || !IsPure(i)) return nullptr;
  std::shared_ptr<const Decision> decision = trial.DecisionOf(i);
  if (decision->expands) return nullptr;
  for (size_t k = 0; k < i.results.size(); ++k)
    if (decision->results[k]->sharding().unreduced == trial.sharding(i.results[k]).unreduced)
      return nullptr;
  return decision;
}

bool MayHaveOtherPlace(const Type* place) {
  return place->mesh() && IsPlainSharding(place->sharding()) &&
         !place->mesh()->has_mode(AxisMode::Manual) &&
         sharding::FirstUnevenDim(place->sharding(), place->shape()) < 0;
}

}  // namespace

bool HasMoves(const ir::Program& program) {
  return absl::c_any_of(program.instructions,
                        [&](const Instruction& i) { return Moves(program, i); });
}

FreeValues FindFreeValues(const ir::Program& program, const ValueUses& uses, PlaceTrial& trial) {
  FreeValues free{.is_free = NearMoves(program), .splits = {}};
  ValueMarks pinned(program.values.size());
  for (ValueId v : program.outputs) pinned[v] = true;
  for (const Instruction& i : program.instructions) {
    if (IsLightOp(i) && IsPure(i)) continue;
    for (ValueId v : i.operands) pinned[v] = true;
    if (std::shared_ptr<const Decision> split = SplitOf(i, trial))
      free.splits.emplace(i.results[0], std::move(split));
    else
      for (ValueId v : i.results) pinned[v] = true;
  }
  for (ValueId v : free.is_free.ids())
    free.is_free[v] = free.is_free[v] && !pinned[v] && uses.maker(v) != ir::kNoInstruction &&
                      MayHaveOtherPlace(trial.place(v));
  return free;
}

std::vector<std::vector<ValueId>> GroupsOf(const ir::Program& program, const FreeValues& free,
                                           const PlaceTrial& trial) {
  ValueSets sets(program.values.size());
  for (const Instruction& i : program.instructions) {
    if (!IsReshard(i) && !IsElementwise(i)) continue;
    const ValueId result = i.results[0];
    std::optional<ValueId> other;
    if (free.is_free[result]) other = result;
    for (ValueId v : i.operands) {
      if (!free.is_free[v] || trial.place(v)->shape() != trial.place(result)->shape()) continue;
      if (other && trial.sharding(v) == trial.sharding(*other)) sets.Join(v, *other);
      if (!other) other = v;
    }
  }
  constexpr size_t kNoGroup = static_cast<size_t>(-1);
  base::IdVector<ValueId, size_t> group_of(program.values.size(), kNoGroup);  // by root
  std::vector<std::vector<ValueId>> groups;
  for (ValueId v : base::Reversed(program.values.ids())) {
    if (!free.is_free[v]) continue;
    size_t& group = group_of[sets.Root(v)];
    if (group == kNoGroup) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(v);
  }
  return groups;
}

}  // namespace tessera::spmd

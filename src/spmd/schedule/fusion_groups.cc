// Visits instructions in program order; each joins a group of its operands or starts its own.
#include "spmd/schedule/fusion_groups.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "plan/fused.h"
#include "spmd/schedule/later_groups.h"
#include "spmd/schedule/live_values.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

// Returns how many trailing dims a reduction reduces; -1 if it reduces other dims too.
int32_t TrailingReducedDims(const sharding::DimMap& map) {
  const sharding::DimFactors& dims = map.operands[0];
  const size_t kept = map.results[0].size();
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool reduced = base::At(map.factors, dims[d][0]).kind == sharding::FactorKind::kReduce;
    if (reduced != (d >= kept)) return -1;
  }
  return static_cast<int32_t>(dims.size() - kept);
}

// Whether a value of this shape has one element per row of the group: the reduced dims are missing,
// or have size 1.
bool IsRowShape(const FusionGroup& group, const base::Shape& shape) {
  if (group.reduced == 0) return false;
  base::Shape row(group.space.begin(), group.space.end() - group.reduced);
  if (shape == row) return true;
  row.insert(row.end(), base::Size(group.reduced), 1);
  return shape == row;
}

class GroupFinder {
 public:
  GroupFinder(const ir::Program& device, ScheduledValues& values)
      : program_(device),
        definitions_(DefinitionsOf(device)),
        values_(values),
        group_of_value_(device.values.size(), kNoFusionGroup),
        is_row_(device.values.size(), false) {}

  FusionGroups Run() {
    for (InstructionId i : InstructionIds(program_)) Visit(i);
    return std::move(found_);
  }

 private:
  FusionGroup& group(FusionGroupId g) { return found_.groups[g]; }
  LayoutId layout(ValueId v) const { return values_[v].layout; }
  const base::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  void Visit(InstructionId i) {
    const Instruction& instruction = InstructionAt(program_, i);
    const FusionGroupId g = AddToGroup(i, instruction);
    for (ValueId v : instruction.operands) CloseGroupOf(v, g);
    for (ValueId v : instruction.results) {
      group_of_value_[v] = g;
      if (IsView(instruction) && g == kNoFusionGroup) values_[v] = values_[instruction.operands[0]];
    }
    found_.group_of.Add(g);
  }

  // A reader outside of the group runs after it, so the group must not move further down.
  void CloseGroupOf(ValueId v, FusionGroupId reader) {
    const FusionGroupId g = group_of_value_[v];
    if (g != kNoFusionGroup && g != reader) group(g).closed = true;
  }

  // Returns the instruction after which v is in memory; kNoInstruction: it always is.
  InstructionId AvailableAfter(ValueId v) const {
    const ValueId root = values_[v].storage;
    if (IsRematerialised(program_, definitions_, v, root)) return kNoInstruction;
    const FusionGroupId g = group_of_value_[root];
    return g == kNoFusionGroup ? definitions_[root] : found_.groups[g].runs_at;
  }

  // Returns the group that instruction i joins or starts; kNoFusionGroup: it is not fused.
  FusionGroupId AddToGroup(InstructionId i, const Instruction& instruction) {
    const ir::Lowering& lowering = *instruction.op->lowering;
    const bool elementwise = std::holds_alternative<ir::AsElementwise>(lowering);
    const bool reduce = std::holds_alternative<ir::AsReduction>(lowering);
    const bool broadcast = std::holds_alternative<ir::AsBroadcast>(lowering);
    if (!elementwise && !reduce && !broadcast && !IsView(instruction)) return kNoFusionGroup;
    FusionGroupId g = FindGroupOfOperands(instruction);
    if (g == kNoFusionGroup && elementwise) g = FindScalarGroup(instruction);
    if (g == kNoFusionGroup && (elementwise || (reduce && ReducedDims(instruction) >= 0)))
      g = StartGroup(instruction);
    if (g == kNoFusionGroup) return g;
    for (ValueId v : instruction.operands) TryMerge(group_of_value_[v], g);
    group(g).instructions.push_back(i);
    if (!group(g).closed) group(g).runs_at = i;
    return g;
  }

  // Merges group `other`, which an instruction of group g reads, into g if it may run where g runs.
  void TryMerge(FusionGroupId other, FusionGroupId g) {
    if (other == kNoFusionGroup || other == g) return;
    FusionGroup &from = group(other), &to = group(g);
    if (from.closed || from.space != to.space || from.layout != to.layout ||
        (from.reduced != 0 && to.reduced != 0 && from.reduced != to.reduced) ||
        from.instructions.size() + to.instructions.size() >= kMostGroupMembers)
      return;
    if (to.closed && ReadsAfter(from, other, to.runs_at)) return;
    for (InstructionId i : from.instructions) {
      found_.group_of[i] = g;
      for (ValueId v : InstructionAt(program_, i).results) group_of_value_[v] = g;
    }
    to.reduced = std::max(to.reduced, from.reduced);
    std::vector<InstructionId> merged;
    absl::c_merge(to.instructions, from.instructions, std::back_inserter(merged));
    to.instructions = std::move(merged);
    from.instructions.clear();
    from.runs_at = kNoInstruction;
  }

  // Whether a member of the group reads a value that is not in memory before `position`.
  bool ReadsAfter(const FusionGroup& reader, FusionGroupId id, InstructionId position) const {
    return absl::c_any_of(reader.instructions, [&](InstructionId i) {
      return absl::c_any_of(InstructionAt(program_, i).operands, [&](ValueId v) {
        return group_of_value_[v] != id && AvailableAfter(v) >= position;
      });
    });
  }

  // Returns how many trailing dims the reduction reduces; -1 if a group cannot do it.
  int32_t ReducedDims(const Instruction& reduction) const {
    const Reduction kind = std::get<ir::AsReduction>(*reduction.op->lowering).reduction;
    if (!plan::ReducesInGroup(program_.type(reduction.results[0])->dtype(), kind)) return -1;
    return TrailingReducedDims(DimMapOf(program_, reduction));
  }

  FusionGroupId StartGroup(const Instruction& instruction) {
    const bool reduce = std::holds_alternative<ir::AsReduction>(*instruction.op->lowering);
    FusionGroup group;
    group.space = shape(reduce ? instruction.operands[0] : instruction.results[0]);
    group.layout = layout(instruction.results[0]);
    if (reduce) group.reduced = ReducedDims(instruction);
    is_row_[instruction.results[0]] = reduce;
    return found_.groups.Add(std::move(group));
  }

  FusionGroupId FindGroupOfOperands(const Instruction& instruction) {
    // The latest group first: it is the one most likely still open.
    std::vector<FusionGroupId> candidates;
    for (ValueId v : instruction.operands)
      if (group_of_value_[v] != kNoFusionGroup) candidates.push_back(group_of_value_[v]);
    absl::c_sort(candidates, std::greater<>());
    for (FusionGroupId g : candidates)
      if (TryJoin(g, instruction)) return g;
    return kNoFusionGroup;
  }

  // Calling a kernel for one element takes longer than computing it, so scalars share a group even
  // if they have no operand in common.
  FusionGroupId FindScalarGroup(const Instruction& instruction) {
    constexpr int32_t kNear = 4;
    const int32_t groups = base::Number(found_.groups.next_id());
    if (program_.type(instruction.results[0])->elements() != 1) return kNoFusionGroup;
    for (int32_t k = groups - 1; k >= std::max(0, groups - kNear); --k) {
      const FusionGroupId g{k};
      if (group(g).space == shape(instruction.results[0]) && !group(g).instructions.empty() &&
          TryJoin(g, instruction))
        return g;
    }
    return kNoFusionGroup;
  }

  bool TryJoin(FusionGroupId g, const Instruction& instruction) {
    FusionGroup& to = group(g);
    if (layout(instruction.results[0]) != to.layout || to.instructions.size() >= kMostGroupMembers)
      return false;
    for (ValueId v : instruction.operands)
      if (group_of_value_[v] != g && to.closed && AvailableAfter(v) >= to.runs_at) return false;
    const ir::Lowering& lowering = *instruction.op->lowering;
    if (std::holds_alternative<ir::AsReduction>(lowering))
      return TryJoinReduction(to, g, instruction);
    if (IsView(instruction)) return TryJoinView(to, instruction);
    if (std::holds_alternative<ir::AsBroadcast>(lowering))
      return CanJoinBroadcast(to, g, instruction);
    return TryJoinElementwise(to, g, instruction);
  }

  bool TryJoinReduction(FusionGroup& to, FusionGroupId g, const Instruction& instruction) {
    const ValueId operand = instruction.operands[0];
    const int32_t reduced = ReducedDims(instruction);
    if (group_of_value_[operand] != g || is_row_[operand]) return false;
    if (reduced <= 0 || (to.reduced != 0 && to.reduced != reduced)) return false;
    to.reduced = reduced;
    is_row_[instruction.results[0]] = true;
    return true;
  }

  // A view of a row value may only add or drop dims of size 1.
  bool TryJoinView(const FusionGroup& to, const Instruction& instruction) {
    const ValueId operand = instruction.operands[0], result = instruction.results[0];
    if (!is_row_[operand] || program_.type(operand)->dtype() != program_.type(result)->dtype() ||
        !IsRowShape(to, shape(result)))
      return false;
    is_row_[result] = true;
    return true;
  }

  // Whether the broadcast repeats a row value along the reduced dims: all elements of a row see it.
  bool CanJoinBroadcast(const FusionGroup& to, FusionGroupId g, const Instruction& instruction) {
    const ValueId operand = instruction.operands[0], result = instruction.results[0];
    if (group_of_value_[operand] != g || !is_row_[operand]) return false;
    if (shape(result) != to.space) return false;
    const sharding::DimMap map = DimMapOf(program_, instruction);
    const base::Shape& from = shape(operand);
    for (size_t d = 0; d < from.size(); ++d)
      if (from[d] != 1 && map.operands[0][d] != map.results[0][d]) return false;
    return true;
  }

  bool TryJoinElementwise(const FusionGroup& to, FusionGroupId g, const Instruction& instruction) {
    const ValueId result = instruction.results[0];
    const base::Shape& s = shape(result);
    const bool element = s == to.space, row = !element && IsRowShape(to, s);
    if (!element && !row) return false;
    for (ValueId v : instruction.operands) {
      if (group_of_value_[v] != g) continue;
      const bool operand_row = is_row_[v];
      if (row && !operand_row) return false;
      // An elementwise op of full shape reads a row value [R, 1] or a scalar, not [R].
      if (element && operand_row && shape(v).size() != to.space.size() && !shape(v).empty())
        return false;
      if (row && shape(v) != s && !shape(v).empty()) return false;
    }
    is_row_[result] = row;
    return true;
  }

  const ir::Program& program_;
  const ValueDefinitions definitions_;
  ScheduledValues& values_;
  FusionGroups found_;
  base::IdVector<ValueId, FusionGroupId> group_of_value_;
  base::IdVector<ValueId, bool> is_row_;  // the value has one element per row of its group
};

}  // namespace

FusionGroups FindFusionGroups(const ir::Program& device, ScheduledValues& values) {
  FusionGroups found = GroupFinder(device, values).Run();
  MoveToReaders(device, found, values);
  return found;
}

}  // namespace tessera::spmd

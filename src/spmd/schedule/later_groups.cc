// Visits groups from the last to the first, so that ops may move on with their readers.
#include "spmd/schedule/later_groups.h"

#include <absl/algorithm/container.h>
#include <absl/container/btree_set.h>

#include "spmd/schedule/live_values.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

class Mover {
 public:
  Mover(const ir::Program& device, FusionGroups& found, const ScheduledValues& values)
      : program_(device),
        found_(found),
        values_(values),
        definitions_(DefinitionsOf(device)),
        users_(UsersOf(device)),
        is_output_(device.values.size(), false) {
    for (ValueId v : device.outputs) is_output_[v] = true;
  }

  void Run() {
    for (FusionGroupId from : base::Reversed(found_.groups.ids()))
      for (FusionGroupId to : ReadersOf(from)) Move(from, to);
  }

 private:
  using Members = absl::btree_set<InstructionId>;

  FusionGroup& group(FusionGroupId g) { return found_.groups[g]; }
  bool IsElement(ValueId v, const FusionGroup& in) const {
    return program_.type(v)->shape() == in.space;
  }

  // Returns the other groups over the same elements that read an element of this group.
  absl::btree_set<FusionGroupId> ReadersOf(FusionGroupId from) {
    absl::btree_set<FusionGroupId> readers;
    for (InstructionId i : group(from).instructions) {
      const ValueId result = InstructionAt(program_, i).results[0];
      if (!IsElement(result, group(from))) continue;
      for (InstructionId user : users_[result]) {
        const FusionGroupId to = found_.group_of[user];
        if (to != kNoFusionGroup && to != from && group(to).space == group(from).space &&
            group(to).layout == group(from).layout)
          readers.insert(to);
      }
    }
    return readers;
  }

  void Move(FusionGroupId from, FusionGroupId to) {
    const Members moved = MembersThatMayMove(from, to);
    if (moved.empty() || moved.size() + group(to).instructions.size() > kMostGroupMembers) return;
    if (!SavesMemory(moved, to)) return;
    for (InstructionId i : moved) found_.group_of[i] = to;
    std::erase_if(group(from).instructions, [&](InstructionId i) { return moved.contains(i); });
    std::vector<InstructionId> all;
    absl::c_merge(group(to).instructions, moved, std::back_inserter(all));
    group(to).instructions = std::move(all);
    if (group(from).instructions.empty()) group(from).runs_at = kNoInstruction;
  }

  // Returns the elementwise members of `from` that only `to`, or others of them, read.
  Members MembersThatMayMove(FusionGroupId from, FusionGroupId to) {
    Members moved;
    const std::vector<InstructionId>& members = group(from).instructions;
    for (size_t k = members.size(); k-- > 0;) {
      const Instruction& instruction = InstructionAt(program_, members[k]);
      const ValueId result = instruction.results[0];
      if (!std::holds_alternative<ir::AsElementwise>(*instruction.op->lowering) ||
          !IsElement(result, group(from)) || is_output_[result] || users_[result].empty())
        continue;
      if (absl::c_all_of(users_[result], [&](InstructionId user) {
            return found_.group_of[user] == to || moved.contains(user);
          }))
        moved.insert(members[k]);
    }
    return moved;
  }

  // Whether `to` runs the members without more bytes between the groups. Inputs, operands that `to`
  // reads already, and values that it rematerialises do not count.
  bool SavesMemory(const Members& moved, FusionGroupId to) {
    absl::btree_set<ValueId> read;  // by `to`
    for (InstructionId i : group(to).instructions)
      for (ValueId v : InstructionAt(program_, i).operands) read.insert(v);
    int64_t saved = 0;
    for (InstructionId i : moved) {
      const Instruction& instruction = InstructionAt(program_, i);
      if (read.contains(instruction.results[0]))
        saved += HeldBytes(program_, instruction.results[0]);
      for (ValueId v : instruction.operands)
        if (!IsInMemory(v) && !moved.contains(definitions_[v]) && read.insert(v).second)
          saved -= HeldBytes(program_, v);
    }
    return saved >= 0;
  }
  bool IsInMemory(ValueId v) const {
    const ValueId root = values_[v].storage;
    return definitions_[root] == kNoInstruction ||
           IsRematerialised(program_, definitions_, v, root);
  }

  const ir::Program& program_;
  FusionGroups& found_;
  const ScheduledValues& values_;
  const ValueDefinitions definitions_;
  const ValueUsers users_;
  base::IdVector<ValueId, bool> is_output_;
};

}  // namespace

void MoveToReaders(const ir::Program& device, FusionGroups& found, const ScheduledValues& values) {
  Mover(device, found, values).Run();
}

}  // namespace tessera::spmd

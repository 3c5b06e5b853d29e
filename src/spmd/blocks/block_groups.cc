// Forms a group per level, checks that it may compute values of lower levels again, and chooses the
// size of a block.
#include "spmd/blocks/block_groups.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <functional>
#include <set>

#include "plan/scalar_op.h"
#include "spmd/blocks/block_types.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

// The instructions of one group, in program order: the members of a level, and members of lower
// levels, literals and iotas that they read and the loop rematerialises.
using GroupInstructions = std::vector<InstructionId>;

// The members for one dim, with their levels.
struct DimMembers {
  ProductFacts& facts;
  const WideValues& wide;
  BlockMembers members;
  BlockLevels levels;

  const ir::Program& program() const { return facts.program(); }
  bool IsMember(InstructionId i) const { return i != kNoInstruction && members.is_member[i]; }
  // Literals and iotas that are not members are whole in every block.
  DimOfCall CallOf(InstructionId i) const {
    const auto call = members.calls.find(i);
    return call == members.calls.end() ? DimOfCall{} : call->second;
  }
  // Whether the dim of operand k is kNoDim: every block reads all of it.
  bool ReadsWhole(InstructionId i, size_t k) const {
    const auto call = members.calls.find(i);
    return call == members.calls.end() || call->second.operands[k] == kNoDim;
  }
};

// Whether a loop may compute v, which a lower level defines, once more. A kernel is repeated only
// for a wide value. A sum over the dim is known only after its loop.
bool MayRepeat(const DimMembers& m, ValueId v, InstructionId definition) {
  return !m.members.Sums(definition) && (m.wide.Has(v) || !IsKernel(m.facts.at(definition)));
}

GroupInstructions GroupOfLevel(const DimMembers& m, int32_t level) {
  std::set<InstructionId, std::greater<>> pending;
  for (InstructionId i : m.members.order)
    if (m.levels.Of(i) == level) pending.insert(i);
  GroupInstructions group;
  for (; !pending.empty(); pending.erase(pending.begin())) {
    const InstructionId i = *pending.begin();
    group.push_back(i);
    const Instruction& instruction = m.facts.at(i);
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const ValueId v = instruction.operands[k];
      const InstructionId definition = m.facts.DefinitionOf(v);
      if (definition == kNoInstruction) continue;
      const bool is_free = IsLiteralOrIota(m.facts.at(definition)) && m.ReadsWhole(i, k);
      if (is_free || (m.IsMember(definition) && MayRepeat(m, v, definition)))
        pending.insert(definition);
    }
  }
  absl::c_reverse(group);
  return group;
}

// Whether the group compares, for equality, a value that it computes again with one that depends on
// the first computation, as the gradient of a maximum does. Both may differ in the last bit.
bool ComparesRepeated(const DimMembers& m, const GroupInstructions& group, int32_t level) {
  const absl::flat_hash_set<InstructionId> inside(group.begin(), group.end());
  absl::flat_hash_set<InstructionId> again, earlier;
  for (InstructionId i : group) {
    const Instruction& instruction = m.facts.at(i);
    if (m.IsMember(i) && m.levels.Of(i) < level) again.insert(i);
    for (ValueId v : instruction.operands) {
      const InstructionId definition = m.facts.DefinitionOf(v);
      if (definition == kNoInstruction) continue;
      if (inside.contains(definition)) {
        if (again.contains(definition)) again.insert(i);
        if (earlier.contains(definition)) earlier.insert(i);
      } else if (m.IsMember(definition) || m.levels.Of(definition) > 0) {
        earlier.insert(i);
      }
    }
    const auto* elementwise = std::get_if<ir::AsElementwise>(&*instruction.op->lowering);
    const bool compares = elementwise && (elementwise->op == plan::ScalarOp::kEq ||
                                          elementwise->op == plan::ScalarOp::kNe);
    if (compares && again.contains(i) && earlier.contains(i) &&
        m.facts.type(instruction.operands[0])->dtype().is_inexact())
      return true;
  }
  return false;
}

// Sets DimOfCall::returns of the members. Returns false if a loop would have to return a wide
// value, or a value that has neither the dim nor a sum over it.
bool SetReturns(DimMembers& m, const std::vector<GroupInstructions>& groups) {
  absl::flat_hash_map<InstructionId, uint8_t> groups_of;  // a bit for each group
  for (size_t g = 0; g < groups.size(); ++g)
    for (InstructionId i : groups[g]) groups_of[i] |= static_cast<uint8_t>(1 << g);
  for (InstructionId i : m.members.order) {
    const ValueId v = m.facts.ResultOf(i);
    DimOfCall& call = m.members.calls.at(i);
    call.returns = false;
    if (IsLight(m.facts, m.wide, i)) continue;
    call.returns =
        m.facts.IsReturned(v) || absl::c_any_of(m.facts.UsersOf(v), [&](InstructionId u) {
          return !m.IsMember(u) || (groups_of.at(u) & ~groups_of.at(i)) != 0;
        });
    if (call.returns && (m.wide.Has(v) || (call.result == kNoDim && !call.sums))) return false;
  }
  return true;
}

bool AllTakeBlocks(const DimMembers& m, const GroupInstructions& group, int64_t block) {
  return absl::c_all_of(group, [&](InstructionId i) {
    const DimOfCall call = m.CallOf(i);
    return TakesBlocks(m.program(), m.facts.at(i), call, block);
  });
}

// Whether the group costs less in blocks than whole. Every block reads all operands without the
// dim, and adds to all sums over it. Without blocks, wide values are written once and read often.
bool IsProfitable(const DimMembers& m, const GroupInstructions& group, int64_t blocks) {
  constexpr int64_t kPasses = 4, kPassesOfSums = 3;
  const absl::flat_hash_set<InstructionId> inside(group.begin(), group.end());
  absl::flat_hash_set<ValueId> whole;
  int64_t bytes = 0;
  for (InstructionId i : group) {
    const Instruction& instruction = m.facts.at(i);
    if (m.IsMember(i) && m.members.Sums(i))
      bytes += kPassesOfSums * ShardBytes(m.program(), instruction.results[0]);
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const ValueId v = instruction.operands[k];
      if (!inside.contains(m.facts.DefinitionOf(v)) && m.ReadsWhole(i, k)) whole.insert(v);
    }
  }
  for (ValueId v : whole) bytes += ShardBytes(m.program(), v);
  return bytes * blocks <= kPasses * ShardBytes(m.program(), m.wide.product);
}

// Returns the largest divisor of the dim for which a block of the product has at most `most`
// elements; 0 if there is none near it.
int64_t LargestBlock(int64_t elements, int64_t size, int64_t most) {
  const int64_t limit = std::max<int64_t>(1, most / (elements / size));
  if (limit >= size) return 0;
  int64_t block = limit;
  while (size % block != 0) --block;
  return block * 8 >= limit ? block : 0;
}

// Returns the smallest of a few sizes of a block that pays for all groups; 0 if none does.
int64_t ProfitableBlock(const DimMembers& m, const std::vector<GroupInstructions>& groups,
                        int64_t size, const BlockLimits& limits) {
  const int64_t elements = m.facts.type(m.wide.product)->elements();
  for (int64_t times : {1, 2, 4, 8, 16}) {
    const int64_t block = LargestBlock(elements, size, times * limits.block);
    if (block != 0 && absl::c_all_of(groups, [&](const GroupInstructions& group) {
          return AllTakeBlocks(m, group, block) && IsProfitable(m, group, size / block);
        }))
      return block;
  }
  return 0;
}

BlockGroup BlockGroupOf(const DimMembers& m, const GroupInstructions& group, int32_t level) {
  BlockGroup made;
  for (InstructionId i : group) {
    const bool is_shared = IsLight(m.facts, m.wide, i) || IsLiteralOrIota(m.facts.at(i));
    BlockedCall& call = made.calls.emplace_back(BlockedCall{i, is_shared, m.CallOf(i)});
    call.dims.returns &= m.levels.Of(i) == level;
  }
  return made;
}

}  // namespace

std::vector<BlockGroup> GroupsAlong(ProductFacts& facts, const WideValues& wide, int dim,
                                    const BlockLimits& limits) {
  std::optional<BlockMembers> members = FindMembers(facts, wide, dim);
  if (!members) return {};
  std::optional<BlockLevels> levels = AssignLevels(facts, wide, *members);
  if (!levels) return {};
  DimMembers m{facts, wide, *std::move(members), *std::move(levels)};
  std::vector<GroupInstructions> groups;
  for (int32_t level = 0; level <= m.levels.last; ++level) {
    groups.push_back(GroupOfLevel(m, level));
    if (ComparesRepeated(m, groups.back(), level)) return {};
  }
  if (!SetReturns(m, groups)) return {};
  const int64_t size = facts.type(wide.product)->shape()[base::Size(dim)];
  const int64_t block = ProfitableBlock(m, groups, size, limits);
  if (block == 0) return {};
  std::vector<BlockGroup> found;
  for (int32_t level = 0; level <= m.levels.last; ++level) {
    BlockGroup group = BlockGroupOf(m, base::At(groups, level), level);
    group.size = size;
    group.block = block;
    if (!group.calls.empty()) found.push_back(std::move(group));
  }
  return found;
}

}  // namespace tessera::spmd

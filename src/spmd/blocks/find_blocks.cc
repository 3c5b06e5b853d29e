// For each large product: its wide values (wide_values.h), for each of its dims the instructions
// that can run in blocks of the dim (block_members.h), and their loops (block_groups.h). The first
// dim that works is taken.
#include "spmd/blocks/find_blocks.h"

#include <optional>
#include <utility>

#include "spmd/blocks/block_groups.h"
#include "spmd/blocks/order.h"

namespace tessera::spmd {
namespace {

using ir::ValueId;

std::vector<BlockGroup> GroupsOfProduct(ProductFacts& facts, InstructionId product,
                                        const BlockLimits& limits) {
  const std::optional<WideValues> wide = FindWideValues(facts, product);
  if (!wide) return {};
  const base::Shape& shape = facts.type(wide->product)->shape();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 1) continue;
    std::vector<BlockGroup> found = GroupsAlong(facts, *wide, static_cast<int>(d), limits);
    if (!found.empty()) return found;
  }
  return {};
}

bool CanRunInOrder(const ir::Program& device, const std::vector<BlockGroup>& groups) {
  std::vector<std::vector<InstructionId>> together;
  for (const BlockGroup& group : groups) {
    std::vector<InstructionId>& list = together.emplace_back();
    for (const BlockedCall& call : group.calls)
      if (!call.is_shared) list.push_back(call.instruction);
  }
  return CanBeOrdered(device, together);
}

}  // namespace

std::vector<BlockGroup> FindBlocks(const ir::Program& device, const BlockLimits& limits,
                                   std::set<ValueId>& tried) {
  std::optional<ProductFacts> facts;
  std::vector<BlockGroup> groups;
  base::IdVector<InstructionId, bool> taken(device.instructions.size());
  size_t of_first_product = 0;  // number of groups
  std::set<ValueId> later_products;
  for (InstructionId i : InstructionIds(device)) {
    const ir::Instruction& instruction = InstructionAt(device, i);
    if (instruction.results.size() != 1) continue;
    const ValueId v = instruction.results[0];
    if (device.type(v)->elements() < limits.least || taken[i] || !tried.insert(v).second) continue;
    if (!facts) facts.emplace(device, limits);
    if (!facts->IsLargeProduct(i)) continue;
    std::vector<BlockGroup> found = GroupsOfProduct(*facts, i, limits);
    if (!groups.empty() && !found.empty()) later_products.insert(v);
    const bool overlaps = absl::c_any_of(found, [&](const BlockGroup& group) {
      return absl::c_any_of(group.calls,
                            [&](const BlockedCall& call) { return taken[call.instruction]; });
    });
    if (overlaps) {
      tried.erase(v);  // it is tried again when the groups before are loops
      continue;
    }
    for (BlockGroup& group : found) {
      for (const BlockedCall& call : group.calls) taken[call.instruction] = !call.is_shared;
      groups.push_back(std::move(group));
    }
    if (of_first_product == 0) of_first_product = groups.size();
  }
  if (CanRunInOrder(device, groups)) return groups;
  for (ValueId v : later_products) tried.erase(v);
  groups.resize(of_first_product);
  return groups;
}

}  // namespace tessera::spmd

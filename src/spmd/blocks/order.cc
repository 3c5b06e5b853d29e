// Topological orders: an instruction is ready when none of its operands is missing.
#include "spmd/blocks/order.h"

#include <functional>
#include <queue>
#include <utility>

namespace tessera::spmd {
namespace {

using ir::ValueId;

// An instruction, or a group of them.
enum class OrderNode : int32_t {};

}  // namespace

bool CanBeOrdered(const ir::Program& p, const std::vector<std::vector<InstructionId>>& groups) {
  const ValueDefinitions definitions = DefinitionsOf(p);
  base::IdVector<InstructionId, OrderNode> node_of(p.instructions.size());
  for (InstructionId i : InstructionIds(p)) node_of[i] = OrderNode{base::Number(i)};
  const auto instructions = static_cast<int32_t>(p.instructions.size());
  for (size_t g = groups.size(); g-- > 0;)
    for (InstructionId i : groups[g])
      node_of[i] = OrderNode{instructions + static_cast<int32_t>(g)};
  base::IdVector<OrderNode, int32_t> missing(p.instructions.size() + groups.size(), 0);
  base::IdVector<OrderNode, std::vector<OrderNode>> users(missing.size());
  for (InstructionId i : InstructionIds(p))
    for (ValueId v : InstructionAt(p, i).operands) {
      const InstructionId definition = definitions[v];
      if (definition == kNoInstruction || node_of[definition] == node_of[i]) continue;
      ++missing[node_of[i]];
      users[node_of[definition]].push_back(node_of[i]);
    }
  std::vector<OrderNode> ready;
  for (OrderNode n : missing.ids())
    if (missing[n] == 0) ready.push_back(n);
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const OrderNode n = ready.back();
    ready.pop_back();
    for (OrderNode user : users[n])
      if (--missing[user] == 0) ready.push_back(user);
  }
  return done == missing.size();
}

void Order(ir::Program& p) {
  const ValueDefinitions definitions = DefinitionsOf(p);
  base::IdVector<InstructionId, int32_t> missing(p.instructions.size(), 0);
  base::IdVector<InstructionId, std::vector<InstructionId>> users(p.instructions.size());
  for (InstructionId i : InstructionIds(p))
    for (ValueId v : InstructionAt(p, i).operands)
      if (const InstructionId definition = definitions[v]; definition != kNoInstruction) {
        ++missing[i];
        users[definition].push_back(i);
      }
  std::priority_queue<InstructionId, std::vector<InstructionId>, std::greater<>> ready;
  for (InstructionId i : InstructionIds(p))
    if (missing[i] == 0) ready.push(i);
  std::vector<ir::Instruction> ordered;
  ordered.reserve(p.instructions.size());
  while (!ready.empty()) {
    const InstructionId i = ready.top();
    ready.pop();
    ordered.push_back(std::move(InstructionAt(p, i)));
    for (InstructionId user : users[i])
      if (--missing[user] == 0) ready.push(user);
  }
  p.instructions = std::move(ordered);
}

}  // namespace tessera::spmd

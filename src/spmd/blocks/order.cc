// Topological orders, by counting what each instruction still waits for.
#include "spmd/blocks/order.h"

#include <functional>
#include <queue>
#include <utility>

#include "base/at.h"

namespace tessera::spmd {

using ir::Instruction;
using ir::ValueId;

bool CanBeOrdered(const ir::Program& p, const std::vector<std::vector<size_t>>& groups) {
  const size_t n = p.instructions.size();
  std::vector<int32_t> made_by(p.values.size(), -1), node_of(n);
  for (size_t i = 0; i < n; ++i) {
    node_of[i] = static_cast<int32_t>(i);
    for (ValueId v : p.instructions[i].results) base::At(made_by, v) = node_of[i];
  }
  for (size_t g = groups.size(); g-- > 0;)
    for (size_t i : groups[g]) node_of[i] = static_cast<int32_t>(n + g);
  std::vector<int32_t> missing(n + groups.size());
  std::vector<std::vector<int32_t>> users(missing.size());
  for (size_t i = 0; i < n; ++i)
    for (ValueId v : p.instructions[i].operands) {
      const int32_t at = base::At(made_by, v), to = node_of[i];
      if (at < 0 || base::At(node_of, at) == to) continue;
      ++base::At(missing, to);
      base::At(users, base::At(node_of, at)).push_back(to);
    }
  std::vector<int32_t> ready;
  for (size_t k = 0; k < missing.size(); ++k)
    if (missing[k] == 0) ready.push_back(static_cast<int32_t>(k));
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const int32_t k = ready.back();
    ready.pop_back();
    for (int32_t user : base::At(users, k))
      if (--base::At(missing, user) == 0) ready.push_back(user);
  }
  return done == missing.size();
}

void Order(ir::Program& p) {
  const size_t n = p.instructions.size();
  std::vector<int32_t> made_by(p.values.size(), -1), missing(n);
  std::vector<std::vector<size_t>> users(n);
  for (size_t i = 0; i < n; ++i)
    for (ValueId v : p.instructions[i].results) base::At(made_by, v) = static_cast<int32_t>(i);
  for (size_t i = 0; i < n; ++i)
    for (ValueId v : p.instructions[i].operands)
      if (const int32_t at = base::At(made_by, v); at >= 0) {
        ++missing[i];
        base::At(users, at).push_back(i);
      }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < n; ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<Instruction> ordered;
  ordered.reserve(n);
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    ordered.push_back(std::move(p.instructions[i]));
    for (size_t user : users[i])
      if (--missing[user] == 0) ready.push(user);
  }
  p.instructions = std::move(ordered);
}

}  // namespace tessera::spmd

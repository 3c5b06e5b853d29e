#include <algorithm>

#include "propagation/import.h"

namespace tessera::propagation::engine {

Rewrite::Rewrite(Graph& graph)
    : graph_(graph),
      before_(graph.ops.size() + 1),
      after_(graph.ops.size()),
      removed_(graph.ops.size(), false) {}

void Rewrite::After(OpId op, Op added) {
  std::vector<Op>& list = after_[static_cast<size_t>(op)];
  list.insert(list.begin(), std::move(added));
}

void Rewrite::AtStart(int32_t region, Op added) {
  added.region = region;
  if (first_.empty())
    for (size_t i = 0; i < graph_.ops.size(); ++i)
      first_.try_emplace(graph_.ops[i].region, static_cast<OpId>(i));
  auto found = first_.find(region);
  std::vector<Op>& list =
      found == first_.end() ? before_.back() : before_[static_cast<size_t>(found->second)];
  list.insert(list.begin(), std::move(added));
}

void Rewrite::Apply() {
  std::vector<Op> ops;
  std::vector<OpId> renumbered(graph_.ops.size(), -1);
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    for (Op& op : before_[i]) ops.push_back(std::move(op));
    if (!removed_[i]) {
      renumbered[i] = static_cast<OpId>(ops.size());
      ops.push_back(std::move(graph_.ops[i]));
    }
    for (Op& op : after_[i]) ops.push_back(std::move(op));
  }
  for (Op& op : before_.back()) ops.push_back(std::move(op));
  graph_.ops = std::move(ops);
  for (Edge& edge : graph_.edges)
    for (Use& use : edge.sources) use.op = renumbered[static_cast<size_t>(use.op)];
  for (auto& [value, uses] : graph_.use_order)
    for (Use& use : uses) use.op = renumbered[static_cast<size_t>(use.op)];
  for (Graph::Region& region : graph_.regions)
    if (region.op >= 0) region.op = renumbered[static_cast<size_t>(region.op)];
}

void OrderUses(Graph& graph) {
  for (const Op& op : graph.ops)
    if (op.kind == Op::kEdge) graph.use_order[op.results[0]] = {};
  if (graph.use_order.empty()) return;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    for (size_t k = 0; k < graph.ops[i].operands.size(); ++k) {
      auto uses = graph.use_order.find(graph.ops[i].operands[k]);
      if (uses != graph.use_order.end())
        uses->second.push_back({static_cast<OpId>(i), static_cast<int32_t>(k)});
    }
}

void HandOn(std::vector<Use> moved, std::vector<Use>& to) {
  std::reverse(moved.begin(), moved.end());
  to.insert(to.begin(), moved.begin(), moved.end());
}

}  // namespace tessera::propagation::engine

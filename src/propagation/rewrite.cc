// Applies removals and insertions of ops all at once, and keeps uses in the order in which
// Shardy visits them.
#include "propagation/rewrite.h"

#include <algorithm>
#include <iterator>

#include "base/at.h"

namespace tessera::propagation::engine {

void Rewrite::After(OpId op, Op added) { after_[op].push_back(std::move(added)); }

void Rewrite::AtStart(int32_t region, Op added) {
  added.region = region;
  if (first_.empty())
    for (size_t i = 0; i < graph_.ops.size(); ++i)
      first_.try_emplace(graph_.ops[i].region, static_cast<OpId>(i));
  auto found = first_.find(region);
  starts_[found == first_.end() ? static_cast<OpId>(graph_.ops.size()) : found->second].push_back(
      std::move(added));
}

void Rewrite::Apply() {
  if (starts_.empty() && before_.empty() && after_.empty() && removed_.empty()) return;
  std::vector<Op> ops;
  ops.reserve(graph_.ops.size() + before_.size() + after_.size());
  std::vector<OpId> renumbered(graph_.ops.size(), -1);
  // The last op added at a place comes first, except before an op.
  auto add = [&](Added& added, OpId at) {
    auto found = added.find(at);
    if (found == added.end()) return;
    if (&added != &before_) std::reverse(found->second.begin(), found->second.end());
    std::move(found->second.begin(), found->second.end(), std::back_inserter(ops));
  };
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    auto id = static_cast<OpId>(i);
    add(starts_, id);
    add(before_, id);
    if (!removed_.contains(id)) {
      renumbered[i] = static_cast<OpId>(ops.size());
      ops.push_back(std::move(graph_.ops[i]));
    }
    add(after_, id);
  }
  add(starts_, static_cast<OpId>(graph_.ops.size()));
  add(before_, static_cast<OpId>(graph_.ops.size()));
  graph_.ops = std::move(ops);
  for (Edge& edge : graph_.edges)
    for (OperandUse& use : edge.sources) use.op = base::At(renumbered, use.op);
  for (auto& [value, uses] : graph_.use_order)
    for (OperandUse& use : uses) use.op = base::At(renumbered, use.op);
  for (FlatGraph::Region& region : graph_.regions)
    if (region.op >= 0) region.op = base::At(renumbered, region.op);
}

void OrderUses(FlatGraph& graph) {
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

void HandOn(std::vector<OperandUse> moved, std::vector<OperandUse>& to) {
  std::reverse(moved.begin(), moved.end());
  to.insert(to.begin(), moved.begin(), moved.end());
}

}  // namespace tessera::propagation::engine

// Applies removals and insertions of ops all at once, and keeps uses in the order in which
// Shardy visits them.
#include "propagation/rewrite.h"

#include <absl/algorithm/container.h>

namespace tessera::propagation::engine {

void Rewrite::InsertAfter(OpId op, Op added) { after_[op].push_back(std::move(added)); }

void Rewrite::InsertAtStart(RegionId region, Op added) {
  added.region = region;
  if (first_.empty())
    for (OpId id : graph_.ops.ids()) first_.try_emplace(graph_.ops[id].region, id);
  auto found = first_.find(region);
  const OpId place = found == first_.end() ? graph_.ops.next_id() : found->second;
  starts_[place].push_back(std::move(added));
}

void Rewrite::Apply() {
  if (starts_.empty() && before_.empty() && after_.empty() && removed_.empty()) return;
  IdVector<OpId, Op> ops;
  ops.reserve(graph_.ops.size() + before_.size() + after_.size());
  IdVector<OpId, OpId> renumbered(graph_.ops.size(), kNoOp);
  auto add_in_order = [&](Added& added, OpId at) {
    auto found = added.find(at);
    if (found == added.end()) return;
    for (Op& op : found->second) ops.Add(std::move(op));
  };
  auto add_last_first = [&](Added& added, OpId at) {
    if (auto found = added.find(at); found != added.end()) absl::c_reverse(found->second);
    add_in_order(added, at);
  };
  for (OpId id : graph_.ops.ids()) {
    add_last_first(starts_, id);
    add_in_order(before_, id);
    if (!removed_.contains(id)) renumbered[id] = ops.Add(std::move(graph_.ops[id]));
    add_last_first(after_, id);
  }
  add_last_first(starts_, graph_.ops.next_id());
  add_in_order(before_, graph_.ops.next_id());
  graph_.ops = std::move(ops);
  for (Edge& edge : graph_.edges)
    for (OperandUse& use : edge.sources) use.op = renumbered[use.op];
  for (auto& [value, uses] : graph_.use_order)
    for (OperandUse& use : uses) use.op = renumbered[use.op];
  for (FlatGraph::Region& region : graph_.regions)
    if (region.op != kNoOp) region.op = renumbered[region.op];
}

void OrderUses(FlatGraph& graph) {
  for (const Op& op : graph.ops)
    if (op.kind == Op::kEdge) graph.use_order[op.results[0]] = {};
  if (graph.use_order.empty()) return;
  for (OpId id : graph.ops.ids()) {
    const auto& operands = graph.ops[id].operands;
    for (int32_t k = 0; k < static_cast<int32_t>(operands.size()); ++k)
      if (auto uses = graph.use_order.find(operands[k]); uses != graph.use_order.end())
        uses->second.push_back({id, k});
  }
}

void PrependReversed(std::vector<OperandUse> moved, std::vector<OperandUse>& to) {
  absl::c_reverse(moved);
  to.insert(to.begin(), moved.begin(), moved.end());
}

}  // namespace tessera::propagation::engine

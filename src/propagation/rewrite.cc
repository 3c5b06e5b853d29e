#include "propagation/import.h"

namespace tessera::propagation::engine {

void Rewrite::Apply() {
  if (before_.empty() && after_.empty() && removed_.empty()) return;
  std::vector<Op> ops;
  ops.reserve(graph_.ops.size() + before_.size() + after_.size());
  std::vector<OpId> renumbered(graph_.ops.size(), -1);
  auto add = [&](Added& added, OpId at) {
    if (auto found = added.find(at); found != added.end())
      for (Op& op : found->second) ops.push_back(std::move(op));
  };
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    auto id = static_cast<OpId>(i);
    add(before_, id);
    if (!removed_.contains(id)) {
      renumbered[i] = static_cast<OpId>(ops.size());
      ops.push_back(std::move(graph_.ops[i]));
    }
    add(after_, id);
  }
  add(before_, static_cast<OpId>(graph_.ops.size()));
  graph_.ops = std::move(ops);
  for (Edge& edge : graph_.edges)
    for (Use& use : edge.sources) use.op = renumbered[static_cast<size_t>(use.op)];
  for (Graph::Region& region : graph_.regions)
    if (region.op >= 0) region.op = renumbered[static_cast<size_t>(region.op)];
}

}  // namespace tessera::propagation::engine

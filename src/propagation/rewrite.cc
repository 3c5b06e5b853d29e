#include "propagation/import.h"

namespace tessera::propagation::engine {

Rewrite::Rewrite(Graph& graph)
    : graph_(graph),
      before_(graph.ops.size() + 1),
      after_(graph.ops.size()),
      removed_(graph.ops.size(), false) {}

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
  for (Graph::Region& region : graph_.regions)
    if (region.op >= 0) region.op = renumbered[static_cast<size_t>(region.op)];
}

}  // namespace tessera::propagation::engine

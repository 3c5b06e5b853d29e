// Edits to a graph before propagation, and the order of uses. See docs/propagation.md, "Before it
// starts".
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Edits to the list of ops, done all at once: ids stay valid until Apply.
class Rewrite {
 public:
  explicit Rewrite(FlatGraph& graph) : graph_(graph) {}
  FlatGraph& graph() { return graph_; }
  void Remove(OpId op) { removed_.insert(op); }
  // Before an op, or at the end: `op` may be one past the last.
  void Before(OpId op, Op added) { before_[op].push_back(std::move(added)); }
  // Right after an op, or as the first of a region: ahead of what was added there before.
  void After(OpId op, Op added);
  void AtStart(int32_t region, Op added);
  // Renumbers ops where edges and regions name them.
  void Apply();

 private:
  // By op; most have none.
  using Added = absl::flat_hash_map<OpId, std::vector<Op>>;

  FlatGraph& graph_;
  Added starts_, before_, after_;
  absl::flat_hash_map<int32_t, OpId> first_;  // of a region
  absl::flat_hash_set<OpId> removed_;
};

// Orders the uses of the owners of edges: Shardy puts an op there and hands the value's uses to it,
// the head of the list first, which turns them round. Whoever is told first decides some conflicts.
void OrderUses(FlatGraph& graph);
// Hands uses on in that way: `moved`, in their order, come before those that `to` has.
void HandOn(std::vector<OperandUse> moved, std::vector<OperandUse>& to);

}  // namespace tessera::propagation::engine

// Edits of a graph before propagation, and the order of uses. See docs/propagation.md,
// "Before it starts".
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Edits of the list of ops. Ids stay valid until Apply makes all edits at once.
class Rewrite {
 public:
  explicit Rewrite(FlatGraph& graph) : graph_(graph) {}
  FlatGraph& graph() { return graph_; }
  void Remove(OpId op) { removed_.insert(op); }
  // Inserts before an op, or at the end: `op` may be one past the last.
  void InsertBefore(OpId op, Op added) { before_[op].push_back(std::move(added)); }
  // Insert right after an op, or at the start of a region. The last op inserted at a
  // place comes first.
  void InsertAfter(OpId op, Op added);
  void InsertAtStart(RegionId region, Op added);
  // Makes the edits, and renumbers ops in edges and regions.
  void Apply();

 private:
  // By op; most have no entry.
  using Added = absl::flat_hash_map<OpId, std::vector<Op>>;

  FlatGraph& graph_;
  Added starts_, before_, after_;
  absl::flat_hash_map<RegionId, OpId> first_;
  absl::flat_hash_set<OpId> removed_;
};

// Orders the uses of edge owners as Shardy does: Shardy adds an op for each edge and moves the uses
// of the value to that op, starting from the head of their list, so their order is reversed. The
// order in which users are notified decides some conflicts.
void OrderUses(FlatGraph& graph);
// Puts `moved`, in reverse order, before the uses in `to`.
void PrependReversed(std::vector<OperandUse> moved, std::vector<OperandUse>& to);

}  // namespace tessera::propagation::engine

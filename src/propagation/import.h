// What happens to a graph before propagation. See docs/propagation.md, "Before it starts".
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
  Added before_, after_;
  absl::flat_hash_map<int32_t, OpId> first_;  // of a region
  absl::flat_hash_set<OpId> removed_;
};

// Gives every user of a constant, of an expression of constants, or of a scalar that is repeated, a
// copy of its own: what one user wants of a constant is nothing to the others. The first user keeps
// the value itself.
void SplitConstants(FlatGraph& graph, std::vector<EngineResult::ConstantCopy>& copies);

// Orders the uses of the owners of edges: Shardy puts an op there and hands the value's uses to it,
// the head of the list first, which turns them round. Whoever is told first decides some conflicts.
void OrderUses(FlatGraph& graph);
// Hands uses on in that way: `moved`, in their order, come before those that `to` has.
void HandOn(std::vector<OperandUse> moved, std::vector<OperandUse>& to);

// Lets constraints act on their operands: a closed constraint of a value without a sharding of its
// own is that value's sharding, and the last one of a chain of constraints is what later users see.
void ApplyConstraints(FlatGraph& graph);

// Joins groups that share a value, and gives their members the one sharding that some have. Where
// members are given different ones, later users see an open constraint instead.
void JoinGroups(FlatGraph& graph, std::vector<std::string>& warnings);

}  // namespace tessera::propagation::engine

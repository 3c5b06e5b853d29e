// Gives values the shardings that constraints ask for, and gives later users the constrained value.
#include "propagation/constraints.h"

#include <absl/algorithm/container.h>

#include "propagation/manual.h"
#include "propagation/rewrite.h"

namespace tessera::propagation::engine {
namespace {

class ConstraintPass {
 public:
  explicit ConstraintPass(FlatGraph& graph)
      : graph_(graph),
        rewrite_(graph),
        defining_op_(DefiningOps(graph)),
        target_of_(graph.values.size(), kNoOp),
        uses_(graph.values.size()) {
    for (OpId id : graph.ops.ids()) {
      const Op& op = graph.ops[id];
      if (op.kind != Op::kEdge) continue;
      const Edge& edge = graph.edges[op.edge];
      target_of_[op.results[0]] = id;
      for (ValueId v : edge.other_targets) target_of_[v] = id;
      if (edge.outer && edge.inward)
        for (OperandUse use : edge.sources) manual_[use] = &edge;
    }
    ForEachUseBackwards(graph, [&](ValueId v, OperandUse use) { uses_[v].push_back(use); });
    for (const auto& [v, uses] : graph.use_order) uses_[v] = uses;
  }

  void Run() {
    for (OpId id : graph_.ops.ids()) {
      if (op(id).kind != Op::kConstraint) continue;
      FollowChain(id);
      ApplyRequest(id, op(id).operands[0], *graph_.values[op(id).results[0]].sharding, id);
    }
    for (OpId id : graph_.ops.ids())
      for (int32_t k = 0; k < static_cast<int32_t>(op(id).operands.size()); ++k)
        if (const Edge* edge = ManualAt({id, k}))
          ApplyRequest(id, op(id).operands[k], *edge->outer, kNoOp);
    rewrite_.Apply();
  }

 private:
  const Op& op(OpId id) const { return graph_.ops[id]; }
  const Edge* ManualAt(OperandUse use) const {
    auto it = manual_.find(use);
    return it == manual_.end() ? nullptr : it->second;
  }
  // Returns the initial sharding of v, or of the owner of the edge if v is a target of an edge.
  auto& GivenSharding(ValueId v) {
    OpId edge = target_of_[v];
    return graph_.values[edge == kNoOp ? v : op(edge).results[0]].sharding;
  }
  // Returns the sharding that a use asks its value to have; null for an ordinary use.
  const TensorSharding* AskedBy(OperandUse use) const {
    if (op(use.op).kind == Op::kConstraint) return &*graph_.values[op(use.op).results[0]].sharding;
    const Edge* edge = ManualAt(use);
    return edge ? &*edge->outer : nullptr;
  }
  bool IsConstraint(ValueId v) const {
    return defining_op_[v] != kNoOp && op(defining_op_[v]).kind == Op::kConstraint;
  }

  // Makes later users of a chain's input use the last constraint of the chain.
  void FollowChain(OpId head) {
    ValueId input = op(head).operands[0];
    if (IsConstraint(input) || GivenSharding(input)) return;
    for (OperandUse use : uses_[input])
      if (use.op != head && AskedBy(use)) return;
    OpId tail = head;
    while (true) {
      const std::vector<OperandUse>& uses = uses_[op(tail).results[0]];
      bool asked = absl::c_any_of(uses, [&](OperandUse u) { return AskedBy(u) != nullptr; });
      if (!asked) break;
      if (uses.size() != 1 || op(uses[0].op).kind != Op::kConstraint) return;
      tail = uses[0].op;
    }
    if (tail == head) return;
    ReplaceUses(input, op(tail).results[0], [&](OperandUse use) {
      return use.op != head && use.op > tail && !op(use.op).is_return &&
             op(use.op).region == op(tail).region;
    });
  }

  // Applies the request of `user` that `input` be sharded as `asked`. The user is `constraint`, or
  // the op of a manual region (`constraint` is kNoOp).
  void ApplyRequest(OpId user, ValueId input, const TensorSharding& asked, OpId constraint) {
    if (GivenSharding(input)) return;
    for (const sharding::DimAxes& d : asked.dims)
      if (d.open) return;
    for (OperandUse use : uses_[input]) {
      const TensorSharding* other = use.op == user ? nullptr : AskedBy(use);
      if (other && *other != asked) return;
    }
    if (target_of_[input] == kNoOp) {
      GivenSharding(input) = asked;
      return;
    }
    // One request must not decide the sharding of all targets of an edge: the users of `input` see
    // a constraint instead.
    if (!asked.unreduced.empty()) {
      TensorSharding partial = sharding::FullyOpen(asked.mesh, asked.rank());
      partial.unreduced = asked.unreduced;
      partial.kind = asked.kind;
      GivenSharding(input) = std::move(partial);
    }
    Op moved;
    if (constraint != kNoOp) {
      moved = op(constraint);
      rewrite_.Remove(constraint);
    } else {
      moved.kind = Op::kConstraint;
      moved.elementwise = true;
      moved.first = Direction::kBoth;
      moved.operands = {input};
      moved.results = {NewValue(input, asked)};
      moved.rule = graph_.IdentityRule(graph_.values[input].shape, 1);
    }
    ReplaceUses(input, moved.results[0], [&](OperandUse use) { return use.op != constraint; });
    graph_.use_order.erase(input);  // the added op is its only use, but has no id yet
    for (std::vector<ValueId>& group : graph_.groups)
      absl::c_replace(group, input, moved.results[0]);
    AddAfterDefinition(input, std::move(moved));
  }

  ValueId NewValue(ValueId like, const TensorSharding& sharding) {
    defining_op_.Add(kNoOp);
    target_of_.Add(kNoOp);
    uses_.Add({});
    return graph_.AddValue(graph_.values[like].shape, sharding);
  }

  // Adds an op right after the value is defined. An argument of a region is defined where the
  // region begins, even if all its users are further inside.
  void AddAfterDefinition(ValueId input, Op added) {
    OpId edge = target_of_[input];
    if (op(edge).results[0] == input) {
      added.region = op(edge).region;
      rewrite_.InsertAfter(edge, std::move(added));
      return;
    }
    rewrite_.InsertAtStart(graph_.values[input].region, std::move(added));
  }

  template <class Which>
  void ReplaceUses(ValueId from, ValueId to, const Which& which) {
    std::vector<OperandUse> kept, moved;
    for (OperandUse use : uses_[from]) (which(use) ? moved : kept).push_back(use);
    for (OperandUse use : moved) graph_.ops[use.op].operands[use.index] = to;
    PrependReversed(std::move(moved), uses_[to]);
    uses_[from] = std::move(kept);
    for (ValueId v : {from, to}) graph_.use_order[v] = uses_[v];
  }

  FlatGraph& graph_;
  Rewrite rewrite_;
  IdVector<ValueId, OpId> defining_op_, target_of_;
  IdVector<ValueId, std::vector<OperandUse>> uses_;  // in the order of FlatGraph::use_order
  absl::flat_hash_map<OperandUse, const Edge*> manual_;
};

}  // namespace

void ApplyConstraints(FlatGraph& graph) {
  bool any = absl::c_any_of(
      graph.ops, [](const Op& op) { return op.kind == Op::kConstraint || op.kind == Op::kEdge; });
  if (any) ConstraintPass(graph).Run();
}

}  // namespace tessera::propagation::engine

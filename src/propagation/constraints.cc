// Gives values the shardings that constraints ask for, and gives later users the constrained value.
#include "propagation/constraints.h"

#include <algorithm>

#include "base/at.h"
#include "propagation/manual.h"
#include "propagation/rewrite.h"

namespace tessera::propagation::engine {
namespace {

class Constraints {
 public:
  explicit Constraints(FlatGraph& graph) : graph_(graph), rewrite_(graph) {
    maker_.assign(graph.values.size(), -1);
    target_of_.assign(graph.values.size(), -1);
    uses_.resize(graph.values.size());
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const Op& op = graph.ops[i];
      for (ValueId v : op.results) base::At(maker_, v) = static_cast<OpId>(i);
      if (op.kind != Op::kEdge) continue;
      const Edge& edge = base::At(graph.edges, op.edge);
      base::At(target_of_, op.results[0]) = static_cast<OpId>(i);
      for (ValueId v : edge.other_targets) base::At(target_of_, v) = static_cast<OpId>(i);
      if (edge.outer && edge.inward)
        for (OperandUse use : edge.sources) manual_[{use.op, use.index}] = &edge;
    }
    for (size_t i = graph.ops.size(); i-- > 0;)
      for (size_t k = graph.ops[i].operands.size(); k-- > 0;)
        base::At(uses_, graph.ops[i].operands[k])
            .push_back({static_cast<OpId>(i), static_cast<int32_t>(k)});
    for (const auto& [v, uses] : graph.use_order) base::At(uses_, v) = uses;
  }

  void Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      OpId id = static_cast<OpId>(i);
      const Op& op = graph_.ops[i];
      if (op.kind == Op::kConstraint) {
        FollowChain(id);
        Act(id, op.operands[0], *base::At(graph_.values, op.results[0]).sharding, id);
      }
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i)
      for (size_t k = 0; k < graph_.ops[i].operands.size(); ++k)
        if (const Edge* edge = ManualAt({static_cast<OpId>(i), static_cast<int32_t>(k)}))
          Act(static_cast<OpId>(i), graph_.ops[i].operands[k], *edge->outer, -1);
    rewrite_.Apply();
  }

 private:
  const Op& op(OpId id) const { return base::At(graph_.ops, id); }
  const Edge* ManualAt(OperandUse use) const {
    auto it = manual_.find({use.op, use.index});
    return it == manual_.end() ? nullptr : it->second;
  }
  // Returns the initial sharding of v; for a target of an edge, of the edge's owner.
  auto& Given(ValueId v) {
    OpId edge = base::At(target_of_, v);
    return base::At(graph_.values, edge < 0 ? v : op(edge).results[0]).sharding;
  }
  // Returns the sharding that a use asks its value to have; null for an ordinary use.
  const TensorSharding* Asked(OperandUse use) const {
    if (op(use.op).kind == Op::kConstraint)
      return &*base::At(graph_.values, op(use.op).results[0]).sharding;
    const Edge* edge = ManualAt(use);
    return edge ? &*edge->outer : nullptr;
  }
  bool IsConstraint(ValueId v) const {
    return base::At(maker_, v) >= 0 && op(base::At(maker_, v)).kind == Op::kConstraint;
  }

  // Makes later users of a chain's input use the last constraint of the chain.
  void FollowChain(OpId head) {
    ValueId input = op(head).operands[0];
    if (IsConstraint(input) || Given(input)) return;
    for (OperandUse use : base::At(uses_, input))
      if (use.op != head && Asked(use)) return;
    OpId tail = head;
    while (true) {
      const std::vector<OperandUse>& uses = base::At(uses_, op(tail).results[0]);
      bool asked =
          std::any_of(uses.begin(), uses.end(), [&](OperandUse u) { return Asked(u) != nullptr; });
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
  // the op of a manual region (`constraint` is -1).
  void Act(OpId user, ValueId input, const TensorSharding& asked, OpId constraint) {
    if (Given(input)) return;
    for (const sharding::DimAxes& d : asked.dims)
      if (d.open) return;
    for (OperandUse use : base::At(uses_, input)) {
      const TensorSharding* other = use.op == user ? nullptr : Asked(use);
      if (other && *other != asked) return;
    }
    if (base::At(target_of_, input) < 0) {
      Given(input) = asked;
      return;
    }
    // One request must not decide the sharding of all targets of an edge: the users of `input` see
    // a constraint instead.
    if (!asked.unreduced.empty()) {
      TensorSharding partial = sharding::Replicated(asked.mesh, asked.rank());
      for (sharding::DimAxes& d : partial.dims) d.open = true;
      partial.unreduced = asked.unreduced;
      partial.kind = asked.kind;
      Given(input) = std::move(partial);
    }
    Op moved;
    if (constraint >= 0) {
      moved = op(constraint);
      rewrite_.Remove(constraint);
    } else {
      moved.kind = Op::kConstraint;
      moved.elementwise = true;
      moved.first = Direction::kBoth;
      moved.operands = {input};
      moved.results = {NewValue(input, asked)};
      moved.rule = graph_.IdentityRule(base::At(graph_.values, input).shape, 1);
    }
    ReplaceUses(input, moved.results[0], [&](OperandUse use) { return use.op != constraint; });
    graph_.use_order.erase(input);  // the added op is its only use, but has no id yet
    for (std::vector<ValueId>& group : graph_.groups)
      std::replace(group.begin(), group.end(), input, moved.results[0]);
    Place(input, std::move(moved));
  }

  ValueId NewValue(ValueId like, const TensorSharding& sharding) {
    maker_.push_back(-1);
    target_of_.push_back(-1);
    uses_.emplace_back();
    return graph_.AddValue(base::At(graph_.values, like).shape, sharding);
  }

  // Adds an op right after the value is defined. An argument of a region is defined where the
  // region begins, even if all its users are further inside.
  void Place(ValueId input, Op added) {
    OpId edge = base::At(target_of_, input);
    if (op(edge).results[0] == input) {
      added.region = op(edge).region;
      rewrite_.After(edge, std::move(added));
      return;
    }
    rewrite_.AtStart(base::At(graph_.values, input).region, std::move(added));
  }

  template <class Which>
  void ReplaceUses(ValueId from, ValueId to, const Which& which) {
    std::vector<OperandUse> kept, moved;
    for (OperandUse use : base::At(uses_, from)) (which(use) ? moved : kept).push_back(use);
    for (OperandUse use : moved) base::At(base::At(graph_.ops, use.op).operands, use.index) = to;
    HandOn(std::move(moved), base::At(uses_, to));
    base::At(uses_, from) = std::move(kept);
    for (ValueId v : {from, to}) graph_.use_order[v] = base::At(uses_, v);
  }

  FlatGraph& graph_;
  Rewrite rewrite_;
  std::vector<OpId> maker_, target_of_;        // by value; -1: none
  std::vector<std::vector<OperandUse>> uses_;  // by value, as FlatGraph::use_order
  absl::flat_hash_map<std::pair<OpId, int32_t>, const Edge*> manual_;
};

}  // namespace

void ApplyConstraints(FlatGraph& graph) {
  bool any = std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    return op.kind == Op::kConstraint || op.kind == Op::kEdge;
  });
  if (any) Constraints(graph).Run();
}

}  // namespace tessera::propagation::engine

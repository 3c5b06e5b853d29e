// Finds the constants of a graph, and copies them for each user.
#include "propagation/constants.h"

#include <absl/algorithm/container.h>

#include "propagation/propagate.h"
#include "propagation/rewrite.h"

namespace tessera::propagation::engine {
namespace {

class ConstantSplitter {
 public:
  ConstantSplitter(FlatGraph& graph, std::vector<EngineResult::ConstantCopy>& copies)
      : graph_(graph), rewrite_(graph), copies_(copies) {
    defining_op_.assign(graph.values.size(), kNoOp);
    constant_.assign(graph.values.size(), false);
    taken_.assign(graph.values.size(), false);
    for (OpId id : graph.ops.ids()) FindConstant(id);
    for (GroupId g : graph.groups.ids())
      for (ValueId v : graph.groups[g]) groups_of_[v].push_back(g);
  }

  void Run() {
    for (OpId id : graph_.ops.ids()) {
      Op& op = graph_.ops[id];
      // The op of a split value is made again for each user, with copies of its own operands.
      bool split = op.results.size() == 1 && IsSplit(op.results[0]);
      if (split)
        rewrite_.Remove(id);
      else
        GiveCopies(op, id);
    }
    for (std::vector<ValueId>& group : graph_.groups)
      std::erase_if(group, [&](ValueId v) { return IsGone(v); });
    rewrite_.Apply();
  }

 private:
  // Whether v has left the graph, because it is a constant or a repeated scalar that no op uses.
  // Membership of a group does not count as a use.
  bool IsGone(ValueId v) { return taken_.Has(v) && IsSplit(v) && !taken_[v]; }
  Op& DefiningOp(ValueId v) { return graph_.ops[defining_op_[v]]; }

  void FindConstant(OpId id) {
    const Op& op = graph_.ops[id];
    for (ValueId v : op.results) defining_op_[v] = id;
    if (op.results.size() != 1 || op.kind == Op::kEdge) return;
    bool all = absl::c_all_of(op.operands, [&](ValueId v) { return constant_[v]; });
    constant_[op.results[0]] = op.constant || (op.foldable && !op.operands.empty() && all);
  }

  // Whether each user of v gets a copy. Scalars have no dims in which users could differ.
  bool IsSplit(ValueId v) {
    if (defining_op_[v] == kNoOp || graph_.values[v].shape.empty()) return false;
    if (constant_[v]) return true;
    const Op& op = DefiningOp(v);
    return op.expands && op.results.size() == 1 && !op.operands.empty() &&
           graph_.values[op.operands[0]].shape.empty();
  }

  void GiveCopies(Op& user, OpId place) {
    for (size_t k = 0; k < user.operands.size(); ++k) {
      ValueId v = user.operands[k];
      if (!IsSplit(v)) continue;
      ValueId copy = Copy(v, place);
      copies_.push_back({.original = v,
                         .user = user.origin,
                         .operand = static_cast<int32_t>(k),
                         .copy = copy,
                         .made = kNoValue});
      user.operands[k] = copy;
    }
  }

  // Returns v, or a new value like it, defined just before `place` by copies of all constant ops
  // that it depends on. Works through a list, not by recursion: a constant may depend on any
  // number of ops.
  ValueId Copy(ValueId v, OpId place) {
    std::vector<OpId> makers = {defining_op_[v]};
    absl::flat_hash_map<ValueId, ValueId> copy_of = {{v, kNoValue}};
    for (size_t i = 0; i < makers.size(); ++i)
      for (ValueId operand : graph_.ops[makers[i]].operands)
        if (IsSplit(operand) && copy_of.try_emplace(operand, kNoValue).second)
          makers.push_back(defining_op_[operand]);
    absl::c_sort(makers);
    for (OpId maker : makers) {
      Op op = graph_.ops[maker];
      ValueId made = NewValue(op.results[0]);
      copy_of[op.results[0]] = made;
      for (size_t k = 0; k < op.operands.size(); ++k) {
        auto copied = copy_of.find(op.operands[k]);
        if (copied == copy_of.end()) continue;
        copies_.push_back(
            {op.operands[k], op.origin, static_cast<int32_t>(k), copied->second, made});
        op.operands[k] = copied->second;
      }
      op.results[0] = made;
      op.region = graph_.ops[place].region;
      rewrite_.InsertBefore(place, std::move(op));
    }
    return copy_of[v];
  }

  // Returns v itself the first time, then a new value like it.
  ValueId NewValue(ValueId v) {
    if (!taken_[v]) {
      taken_[v] = true;
      return v;
    }
    FlatValue original = graph_.values[v];
    ValueId copy = graph_.AddValue(std::move(original.shape), std::move(original.sharding));
    if (auto groups = groups_of_.find(v); groups != groups_of_.end())
      for (GroupId g : groups->second) graph_.groups[g].push_back(copy);
    return copy;
  }

  FlatGraph& graph_;
  Rewrite rewrite_;
  std::vector<EngineResult::ConstantCopy>& copies_;
  IdVector<ValueId, OpId> defining_op_;
  IdVector<ValueId, bool> constant_, taken_;  // of the values of the caller
  absl::flat_hash_map<ValueId, std::vector<GroupId>> groups_of_;
};

}  // namespace

void SplitConstants(FlatGraph& graph, std::vector<EngineResult::ConstantCopy>& copies) {
  ConstantSplitter(graph, copies).Run();
}

}  // namespace tessera::propagation::engine

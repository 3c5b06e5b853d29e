// Finds the constants of a graph, and copies them for each user.
#include "propagation/constants.h"

#include <algorithm>

#include "base/at.h"
#include "propagation/propagate.h"
#include "propagation/rewrite.h"

namespace tessera::propagation::engine {
namespace {

class Splitter {
 public:
  Splitter(FlatGraph& graph, std::vector<EngineResult::ConstantCopy>& copies)
      : graph_(graph), rewrite_(graph), copies_(copies) {
    maker_.assign(graph.values.size(), -1);
    constant_.assign(graph.values.size(), false);
    taken_.assign(graph.values.size(), false);
    for (size_t i = 0; i < graph.ops.size(); ++i) FindConstant(static_cast<OpId>(i));
    for (size_t g = 0; g < graph.groups.size(); ++g)
      for (ValueId v : graph.groups[g]) groups_of_[v].push_back(g);
  }

  void Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      OpId id = static_cast<OpId>(i);
      // The op of a value that splits is made again for each user, with copies of its own operands.
      bool splits = graph_.ops[i].results.size() == 1 && Splits(graph_.ops[i].results[0]);
      if (splits)
        rewrite_.Remove(id);
      else
        GiveCopies(graph_.ops[i], id);
    }
    for (std::vector<ValueId>& group : graph_.groups)
      std::erase_if(group, [&](ValueId v) { return IsGone(v); });
    rewrite_.Apply();
  }

 private:
  // Whether v has left the graph: a constant that no op uses. Membership of a group is no use.
  bool IsGone(ValueId v) {
    return static_cast<size_t>(v) < taken_.size() && Splits(v) && !base::At(taken_, v);
  }
  Op& MakerOf(ValueId v) { return base::At(graph_.ops, base::At(maker_, v)); }

  void FindConstant(OpId id) {
    const Op& op = base::At(graph_.ops, id);
    for (ValueId v : op.results) base::At(maker_, v) = id;
    if (op.results.size() != 1 || op.kind == Op::kEdge) return;
    bool all = std::all_of(op.operands.begin(), op.operands.end(),
                           [&](ValueId v) { return base::At(constant_, v); });
    base::At(constant_, op.results[0]) =
        op.constant || (op.foldable && !op.operands.empty() && all);
  }

  // Whether each user of v gets a copy. Scalars have no dims in which users could differ.
  bool Splits(ValueId v) {
    if (base::At(maker_, v) < 0 || base::At(graph_.values, v).shape.empty()) return false;
    if (base::At(constant_, v)) return true;
    const Op& op = MakerOf(v);
    return op.expands && op.results.size() == 1 && !op.operands.empty() &&
           base::At(graph_.values, op.operands[0]).shape.empty();
  }

  void GiveCopies(Op& user, OpId place) {
    for (size_t k = 0; k < user.operands.size(); ++k) {
      ValueId v = user.operands[k];
      if (!Splits(v)) continue;
      ValueId copy = Copy(v, place);
      copies_.push_back({.original = v,
                         .user = user.origin,
                         .operand = static_cast<int32_t>(k),
                         .copy = copy,
                         .made = -1});
      user.operands[k] = copy;
    }
  }

  // Returns v, or a new value like it, defined just before `place` by copies of all constant ops
  // that it depends on. Works through a list, not by recursion: a constant may depend on any
  // number of ops.
  ValueId Copy(ValueId v, OpId place) {
    std::vector<OpId> makers = {base::At(maker_, v)};
    absl::flat_hash_map<ValueId, ValueId> copy_of = {{v, -1}};
    for (size_t i = 0; i < makers.size(); ++i)
      for (ValueId operand : base::At(graph_.ops, makers[i]).operands)
        if (Splits(operand) && copy_of.try_emplace(operand, -1).second)
          makers.push_back(base::At(maker_, operand));
    std::sort(makers.begin(), makers.end());
    for (OpId maker : makers) {
      Op op = base::At(graph_.ops, maker);
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
      op.region = base::At(graph_.ops, place).region;
      rewrite_.Before(place, std::move(op));
    }
    return copy_of[v];
  }

  // Returns v itself the first time, then a new value like it.
  ValueId NewValue(ValueId v) {
    if (!base::At(taken_, v)) {
      base::At(taken_, v) = true;
      return v;
    }
    FlatValue original = base::At(graph_.values, v);
    ValueId copy = graph_.AddValue(std::move(original.shape), std::move(original.sharding));
    if (auto groups = groups_of_.find(v); groups != groups_of_.end())
      for (size_t g : groups->second) graph_.groups[g].push_back(copy);
    return copy;
  }

  FlatGraph& graph_;
  Rewrite rewrite_;
  std::vector<EngineResult::ConstantCopy>& copies_;
  std::vector<OpId> maker_;
  std::vector<bool> constant_, taken_;  // by value of the caller
  absl::flat_hash_map<ValueId, std::vector<size_t>> groups_of_;
};

}  // namespace

void SplitConstants(FlatGraph& graph, std::vector<EngineResult::ConstantCopy>& copies) {
  Splitter(graph, copies).Run();
}

}  // namespace tessera::propagation::engine

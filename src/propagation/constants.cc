#include <algorithm>

#include "propagation/import.h"

namespace tessera::propagation {
namespace {

class Splitter {
 public:
  Splitter(Graph& graph, std::vector<Result::Copy>& copies)
      : graph_(graph), rewrite_(graph), copies_(copies) {
    maker_.assign(graph.values.size(), -1);
    constant_.assign(graph.values.size(), false);
    taken_.assign(graph.values.size(), false);
    for (size_t i = 0; i < graph.ops.size(); ++i) FindConstant(static_cast<OpId>(i));
  }

  void Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      OpId id = static_cast<OpId>(i);
      if (IsConstant(id)) {
        if (Splits(graph_.ops[i].results[0])) rewrite_.Remove(id);
        continue;
      }
      if (graph_.ops[i].results.size() == 1 && Splits(graph_.ops[i].results[0]))
        rewrite_.Remove(id);
      GiveCopies(graph_.ops[i], id);
    }
    rewrite_.Apply();
  }

 private:
  Op& MakerOf(ValueId v) { return graph_.ops[static_cast<size_t>(maker_[static_cast<size_t>(v)])]; }
  bool IsConstant(OpId id) const {
    const Op& op = graph_.ops[static_cast<size_t>(id)];
    return op.results.size() == 1 && constant_[static_cast<size_t>(op.results[0])];
  }

  void FindConstant(OpId id) {
    const Op& op = graph_.ops[static_cast<size_t>(id)];
    for (ValueId v : op.results) maker_[static_cast<size_t>(v)] = id;
    if (op.results.size() != 1 || op.kind == Op::kEdge) return;
    bool all = std::all_of(op.operands.begin(), op.operands.end(),
                           [&](ValueId v) { return constant_[static_cast<size_t>(v)]; });
    constant_[static_cast<size_t>(op.results[0])] =
        op.constant || (op.foldable && !op.operands.empty() && all);
  }

  // Whether every user of v gets a copy. Scalars have no sharding to differ in.
  bool Splits(ValueId v) {
    if (maker_[static_cast<size_t>(v)] < 0 || graph_.values[static_cast<size_t>(v)].shape.empty())
      return false;
    if (constant_[static_cast<size_t>(v)]) return true;
    const Op& op = MakerOf(v);
    return op.expands && graph_.values[static_cast<size_t>(op.operands[0])].shape.empty();
  }

  void GiveCopies(Op& user, OpId place) {
    for (size_t k = 0; k < user.operands.size(); ++k) {
      ValueId v = user.operands[k];
      if (!Splits(v)) continue;
      ValueId copy = Copy(v, place);
      copies_.push_back({v, user.origin, static_cast<int32_t>(k), copy});
      user.operands[k] = copy;
    }
  }

  // Returns v, or a new value like it, made just before `place`.
  ValueId Copy(ValueId v, OpId place) {
    Op op = MakerOf(v);
    GiveCopies(op, place);
    if (taken_[static_cast<size_t>(v)]) {
      const Value& original = graph_.values[static_cast<size_t>(v)];
      op.results[0] = graph_.AddValue(original.shape, original.sharding);
      for (std::vector<ValueId>& group : graph_.groups)
        if (std::count(group.begin(), group.end(), v)) group.push_back(op.results[0]);
    }
    taken_[static_cast<size_t>(v)] = true;
    op.region = graph_.ops[static_cast<size_t>(place)].region;
    ValueId made = op.results[0];
    rewrite_.Before(place, std::move(op));
    return made;
  }

  Graph& graph_;
  Rewrite rewrite_;
  std::vector<Result::Copy>& copies_;
  std::vector<OpId> maker_;
  std::vector<bool> constant_, taken_;  // per value of the caller
};

}  // namespace

void SplitConstants(Graph& graph, std::vector<Result::Copy>& copies) {
  Splitter(graph, copies).Run();
}

}  // namespace tessera::propagation

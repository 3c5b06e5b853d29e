// What every value had at any moment of a recorded propagation, and the ops around it.
#pragma once
#include <optional>
#include <vector>

#include "base/at.h"
#include "propagation/graph.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Whether axis a, or an axis that it is a part of, is in the list.
bool Holds(const AxisList& axes, AxisPart a);

class History {
 public:
  explicit History(const EngineResult& result);

  const FlatGraph& graph() const { return graph_; }
  const Op& op(OpId i) const { return base::At(graph_.ops, i); }
  const DimMap& MapOf(OpId i) const { return base::At(graph_.rules, op(i).rule).map; }
  // The value whose sharding stands for v's, and the op that makes that one; -1: none.
  ValueId Owner(ValueId v) const { return base::At(owner_, v); }
  OpId Maker(ValueId v) const { return base::At(maker_, Owner(v)); }
  // The values that an op's rule is about: operands (an edge's sources), then results.
  std::vector<ValueId> Tensors(OpId i) const;
  // Ops with v among their tensors that something may cross, in program order.
  const std::vector<OpId>& Around(ValueId v) const { return base::At(around_, v); }
  // Constraints of v, and how often v is used at all.
  std::vector<OpId> Constraints(ValueId v) const;
  int Uses(ValueId v) const { return base::At(uses_, v); }

  // What v had before change number `time`; null: nothing.
  const TensorSharding* At(ValueId v, size_t time) const;
  // The change before `time` that gave dim d of v axis a; nothing if it was given from the start.
  std::optional<size_t> Gained(ValueId v, size_t d, AxisPart a, size_t time) const;
  const Change& change(size_t e) const { return result_.changes[e]; }
  size_t now() const { return result_.changes.size(); }

 private:
  const EngineResult& result_;
  const FlatGraph& graph_;
  std::vector<ValueId> owner_;
  std::vector<OpId> maker_;
  std::vector<std::vector<OpId>> around_;
  std::vector<std::vector<size_t>> changes_;  // of owners, in time
  std::vector<int> uses_;
};

}  // namespace tessera::propagation::engine

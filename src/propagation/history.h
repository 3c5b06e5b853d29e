// The sharding of every value at any time of a recorded propagation, and the ops around it.
#pragma once
#include <optional>
#include <vector>

#include "propagation/graph.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Whether the list has axis a, or a part that contains it.
bool Holds(const AxisList& axes, AxisPart a);

class History {
 public:
  explicit History(const EngineResult& result);

  const FlatGraph& graph() const { return graph_; }
  const Op& op(OpId i) const { return graph_.ops[i]; }
  const DimMap& MapOf(OpId i) const { return graph_.rules[op(i).rule].map; }
  // The value that owns v's sharding, and the op that defines that value (kNoOp for arguments).
  ValueId Owner(ValueId v) const { return owner_[v]; }
  OpId DefiningOp(ValueId v) const { return defining_op_[Owner(v)]; }
  // Returns the tensors of an op's rule: operands (an edge's sources), then results.
  std::vector<ValueId> Tensors(OpId i) const;
  // Returns the ops that have v among their tensors and let axes through, in program order.
  const std::vector<OpId>& OpsAround(ValueId v) const { return around_[v]; }
  // The constraints on v, and the number of all its uses.
  std::vector<OpId> ConstraintsOn(ValueId v) const;
  int NumUses(ValueId v) const { return uses_[v]; }

  // Returns the sharding of v before change number `time`; null: none.
  const TensorSharding* ShardingAt(ValueId v, size_t time) const;
  // Returns the change before `time` that gave dim d of v axis a; nothing if v had it
  // from the start.
  std::optional<size_t> ChangeThatGave(ValueId v, size_t d, AxisPart a, size_t time) const;
  const Change& change(size_t e) const { return result_.changes[e]; }
  size_t now() const { return result_.changes.size(); }

 private:
  const EngineResult& result_;
  const FlatGraph& graph_;
  IdVector<ValueId, ValueId> owner_;
  IdVector<ValueId, OpId> defining_op_;
  IdVector<ValueId, std::vector<OpId>> around_;
  IdVector<ValueId, std::vector<size_t>> changes_;  // of owners, in order of time
  IdVector<ValueId, int> uses_;
};

}  // namespace tessera::propagation::engine

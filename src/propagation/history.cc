// Looks up the sharding of a value at a time, and the change that gave it an axis.
#include "propagation/history.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "propagation/propagate.h"

namespace tessera::propagation::engine {

bool Holds(const AxisList& axes, AxisPart a) {
  return absl::c_any_of(axes, [&](AxisPart b) { return Contains(b, a); });
}

History::History(const EngineResult& result)
    : result_(result),
      graph_(result.graph),
      owner_(OwnersOf(graph_)),
      defining_op_(DefiningOps(graph_)),
      around_(graph_.values.size()),
      changes_(graph_.values.size()),
      uses_(graph_.values.size()) {
  for (OpId id : graph_.ops.ids()) {
    const Op& op = graph_.ops[id];
    for (ValueId v : op.operands) ++uses_[v];
    if (op.kind == Op::kNone || op.rule == RuleId::kNone) continue;
    for (ValueId v : Tensors(id)) {
      std::vector<OpId>& list = around_[v];
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }
  for (size_t e = 0; e < result.changes.size(); ++e)
    changes_[Owner(result.changes[e].value)].push_back(e);
}

std::vector<ValueId> History::Tensors(OpId i) const {
  std::vector<ValueId> tensors(op(i).operands.begin(), op(i).operands.end());
  if (op(i).kind == Op::kEdge)
    for (OperandUse use : graph_.edges[op(i).edge].sources)
      tensors.push_back(UsedValue(graph_, use));
  tensors.insert(tensors.end(), op(i).results.begin(), op(i).results.end());
  return tensors;
}

std::vector<OpId> History::ConstraintsOn(ValueId v) const {
  std::vector<OpId> constraints;
  for (OpId i : OpsAround(v))
    if (op(i).kind == Op::kConstraint && op(i).operands[0] == v) constraints.push_back(i);
  return constraints;
}

const TensorSharding* History::ShardingAt(ValueId v, size_t time) const {
  v = Owner(v);
  const std::vector<size_t>& changes = changes_[v];
  auto next = std::lower_bound(changes.begin(), changes.end(), time);
  if (next != changes.begin()) return &result_.shardings[change(*std::prev(next)).after];
  const MaybeSharding& given = graph_.values[v].sharding;
  return given ? &*given : nullptr;
}

std::optional<size_t> History::ChangeThatGave(ValueId v, size_t d, AxisPart a, size_t time) const {
  for (size_t e : changes_[Owner(v)]) {
    if (e >= time) break;
    const TensorSharding &after = result_.shardings[change(e).after],
                         &before = result_.shardings[change(e).before];
    bool had = change(e).before != ShardingId::kNone && Holds(before.dims[d].axes, a);
    if (!had && Holds(after.dims[d].axes, a)) return e;
  }
  return std::nullopt;
}

}  // namespace tessera::propagation::engine

// Looks up the sharding of a value at a time, and the change that gave it an axis.
#include "propagation/history.h"

#include <algorithm>

#include "base/at.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

bool Holds(const AxisList& axes, AxisPart a) {
  return std::any_of(axes.begin(), axes.end(), [&](AxisPart b) { return Contains(b, a); });
}

History::History(const EngineResult& result) : result_(result), graph_(result.graph) {
  const size_t n = graph_.values.size();
  owner_.resize(n);
  for (size_t v = 0; v < n; ++v) owner_[v] = static_cast<ValueId>(v);
  maker_.assign(n, -1);
  around_.resize(n);
  changes_.resize(n);
  uses_.assign(n, 0);
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    for (ValueId v : op.operands) ++base::At(uses_, v);
    for (ValueId v : op.results) base::At(maker_, v) = static_cast<OpId>(i);
    if (op.kind == Op::kEdge)
      for (ValueId v : base::At(graph_.edges, op.edge).other_targets)
        base::At(owner_, v) = op.results[0];
    if (op.kind == Op::kNone || op.rule < 0) continue;
    for (ValueId v : Tensors(static_cast<OpId>(i))) {
      std::vector<OpId>& list = base::At(around_, v);
      if (list.empty() || list.back() != static_cast<OpId>(i)) list.push_back(static_cast<OpId>(i));
    }
  }
  for (size_t e = 0; e < result.changes.size(); ++e)
    base::At(changes_, Owner(result.changes[e].value)).push_back(e);
}

std::vector<ValueId> History::Tensors(OpId i) const {
  std::vector<ValueId> tensors(op(i).operands.begin(), op(i).operands.end());
  if (op(i).kind == Op::kEdge)
    for (OperandUse use : base::At(graph_.edges, op(i).edge).sources)
      tensors.push_back(base::At(op(use.op).operands, use.index));
  tensors.insert(tensors.end(), op(i).results.begin(), op(i).results.end());
  return tensors;
}

std::vector<OpId> History::Constraints(ValueId v) const {
  std::vector<OpId> constraints;
  for (OpId i : Around(v))
    if (op(i).kind == Op::kConstraint && op(i).operands[0] == v) constraints.push_back(i);
  return constraints;
}

const TensorSharding* History::At(ValueId v, size_t time) const {
  v = Owner(v);
  const std::vector<size_t>& changes = base::At(changes_, v);
  auto next = std::lower_bound(changes.begin(), changes.end(), time);
  if (next != changes.begin()) return &base::At(result_.shardings, change(*std::prev(next)).after);
  const MaybeSharding& given = base::At(graph_.values, v).sharding;
  return given ? &*given : nullptr;
}

std::optional<size_t> History::Gained(ValueId v, size_t d, AxisPart a, size_t time) const {
  for (size_t e : base::At(changes_, Owner(v))) {
    if (e >= time) break;
    const TensorSharding &after = base::At(result_.shardings, change(e).after),
                         &before = base::At(result_.shardings, change(e).before);
    bool had = change(e).before != 0 && Holds(before.dims[d].axes, a);
    if (!had && Holds(after.dims[d].axes, a)) return e;
  }
  return std::nullopt;
}

}  // namespace tessera::propagation::engine

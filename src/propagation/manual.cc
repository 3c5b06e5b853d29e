// Adds the manual axes to shardings that leave a manual region, and removes them from
// those that enter.
#include "propagation/manual.h"

#include <absl/algorithm/container.h>

#include <algorithm>

namespace tessera::propagation::engine {
namespace {

bool NamesAxis(const AxisList& axes, AxisPart a) {
  return absl::c_any_of(axes, [&](AxisPart b) { return a.axis == b.axis; });
}

// Returns the sharding whose dims have the manual axes of `outer`, then the axes of `inner`.
TensorSharding WithManualAxes(const Edge& edge, const TensorSharding& inner) {
  const TensorSharding& outer = *edge.outer;
  TensorSharding out = outer;
  for (size_t d = 0; d < out.dims.size(); ++d) {
    sharding::DimAxes& dim = out.dims[d];
    dim.open = inner.dims[d].open;
    dim.priority = inner.dims[d].priority;
    dim.axes.erase(std::remove_if(dim.axes.begin(), dim.axes.end(),
                                  [&](AxisPart a) { return !NamesAxis(edge.manual, a); }),
                   dim.axes.end());
    dim.axes.insert(dim.axes.end(), inner.dims[d].axes.begin(), inner.dims[d].axes.end());
  }
  return out;
}

}  // namespace

TensorSharding WithoutAxes(TensorSharding s, const AxisList& axes) {
  auto drop = [&](AxisList& list) {
    list.erase(
        std::remove_if(list.begin(), list.end(), [&](AxisPart a) { return NamesAxis(axes, a); }),
        list.end());
  };
  for (sharding::DimAxes& d : s.dims) drop(d.axes);
  drop(s.replicated);
  drop(s.unreduced);
  return s;
}

TensorSharding SeenBySources(const Edge& edge, const TensorSharding* target) {
  TensorSharding s = target ? *target : sharding::FullyOpen(edge.outer->mesh, edge.outer->rank());
  return edge.inward ? WithManualAxes(edge, s) : WithoutAxes(std::move(s), edge.manual);
}

TensorSharding SeenByTargets(const Edge& edge, const TensorSharding& source) {
  return edge.inward ? WithoutAxes(source, edge.manual) : WithManualAxes(edge, source);
}

}  // namespace tessera::propagation::engine

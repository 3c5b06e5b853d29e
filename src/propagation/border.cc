// Shardings at the border of a program: axes divide the dims, and no dim is open.
#include "propagation/border.h"

#include <algorithm>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

TensorSharding AtBorder(const TensorSharding& sharding, const Shape& shape, SubAxes sub_axes,
                        const TensorSharding* typed) {
  TensorSharding out = sharding;
  for (size_t d = 0; d < shape.size(); ++d) {
    sharding::DimAxes& dim = out.dims[d];
    if (shape[d] % SizeOf(dim.axes) != 0) {
      dim.axes = PrefixThatDivides(dim.axes, shape[d]);
      dim.priority = -1;
    }
    if (sub_axes == SubAxes::kKeep || !dim.open) continue;
    const size_t kept = typed ? std::min(typed->dims[d].axes.size(), dim.axes.size()) : 0;
    auto sub = std::find_if(dim.axes.begin() + static_cast<ptrdiff_t>(kept), dim.axes.end(),
                            [&](AxisPart a) { return !IsWhole(*out.mesh, a); });
    dim.axes.erase(sub, dim.axes.end());
  }
  return out;
}

TensorSharding Closed(const TensorSharding& sharding) {
  TensorSharding out = sharding;
  for (sharding::DimAxes& d : out.dims) d.open = false;
  out.replicated.clear();
  return out;
}

}  // namespace tessera::propagation::engine

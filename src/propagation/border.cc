// What a sharding becomes at the border of a program: only axes that divide the dims, no open dims.
#include "propagation/border.h"

#include <algorithm>
#include <numeric>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

TensorSharding AtBorder(const TensorSharding& sharding, const Shape& shape, bool keep_sub_axes) {
  TensorSharding out = sharding;
  for (size_t d = 0; d < shape.size(); ++d) {
    sharding::DimAxes& dim = out.dims[d];
    if (shape[d] % SizeOf(dim.axes) != 0) {
      AxisList fits;
      int64_t room = shape[d];
      for (AxisPart a : dim.axes) {
        int64_t common = std::gcd(a.size, room);
        if (common <= 1) break;
        AppendMerged(fits, {a.axis, a.pre, common});
        if (common != a.size) break;
        room /= common;
      }
      dim.axes = std::move(fits);
      dim.priority = -1;
    }
    if (keep_sub_axes || !dim.open) continue;
    auto sub = std::find_if(dim.axes.begin(), dim.axes.end(),
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

// Distributes the axes of a tensor's dims over factors, and collects them again.
#include "sharding/project.h"

#include <numeric>

namespace tessera::sharding {
namespace {

// Moves axes from the front of `left` to `factor`, which has `room` elements. With `split` the last
// axis may be cut.
void Take(AxisList& left, AxisList& factor, int64_t room, AxisCut cut) {
  while (!left.empty() && room > 1) {
    AxisPart a = left.front();
    int64_t part =
        cut == AxisCut::kAllowed ? std::gcd(room, a.size) : (room % a.size == 0 ? a.size : 1);
    if (part == 1) return;
    AppendMerged(factor, {a.axis, a.pre, part});
    room /= part;
    if (part == a.size)
      left.erase(left.begin());
    else
      left.front() = {a.axis, a.pre * part, a.size / part};
  }
}

}  // namespace

Projection Project(const DimMap& map, const DimFactors& dims, const TensorSharding& sharding,
                   AxisCut cut) {
  Projection p;
  p.axes.resize(map.factors.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    if (sharding.dims[d].axes.empty() || dims[d].empty()) continue;
    if (dims[d].size() == 1) {
      p.axes[dims[d][0]] = sharding.dims[d].axes;
      continue;
    }
    AxisList left = sharding.dims[d].axes;
    for (int32_t f : dims[d]) {
      int64_t room = map.factors[f].size;
      Take(left, p.axes[f], room, cut);
      if (SizeOf(p.axes[f]) < room) break;
    }
    if (!left.empty() && p.lost_dim < 0) {
      p.lost = left;
      p.lost_dim = static_cast<int32_t>(d);
    }
  }
  return p;
}

TensorSharding Unproject(const DimMap& map, const DimFactors& dims, const FactorAxes& axes,
                         const MeshDef* mesh, bool* dropped) {
  TensorSharding s = Replicated(mesh, static_cast<int>(dims.size()));
  if (dropped) *dropped = false;
  for (size_t d = 0; d < dims.size(); ++d) {
    bool full = true;
    for (int32_t f : dims[d]) {
      if (axes[f].empty()) {
        full = full && map.factors[f].size == 1;
        continue;
      }
      if (!full) {
        if (dropped) *dropped = true;
        break;
      }
      for (AxisPart a : axes[f]) AppendMerged(s.dims[d].axes, a);
      full = SizeOf(axes[f]) >= map.factors[f].size;
    }
  }
  return s;
}

}  // namespace tessera::sharding

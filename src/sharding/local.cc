// Local shapes, and the shard that a device holds along a dim.
#include "sharding/local.h"

#include "base/shape.h"

namespace tessera::sharding {

Shape LocalShape(const Shape& shape, const TensorSharding& sharding) {
  Shape local = shape;
  for (size_t d = 0; d < local.size(); ++d) {
    if (sharding.dims[d].axes.empty()) continue;
    int64_t shards = SizeOf(sharding.dims[d].axes);
    local[d] = (local[d] + shards - 1) / shards;
  }
  return local;
}

int64_t LocalElements(const Shape& shape, const TensorSharding& sharding) {
  return base::Elements(LocalShape(shape, sharding));
}

int64_t ShardIndex(const MeshDef& mesh, const AxisList& axes, int64_t index) {
  int64_t shard = 0;
  for (AxisPart a : axes) {
    int64_t minor = mesh.axis_size(a.axis) / a.next();
    shard = shard * a.size + mesh.Coordinate(index, a.axis) / minor % a.size;
  }
  return shard;
}

int64_t WithShardIndex(const MeshDef& mesh, const AxisList& axes, int64_t index, int64_t shard) {
  for (size_t i = axes.size(); i-- > 0;) {
    AxisPart a = axes[i];
    int64_t minor = mesh.axis_size(a.axis) / a.next();
    int64_t old = mesh.Coordinate(index, a.axis) / minor % a.size;
    index += (shard % a.size - old) * minor * mesh.stride(a.axis);
    shard /= a.size;
  }
  return index;
}

AxisList VaryingAxes(const TensorSharding& sharding) {
  AxisList axes;
  for (const DimAxes& d : sharding.dims) axes.insert(axes.end(), d.axes.begin(), d.axes.end());
  for (const AxisList* set : {&sharding.unreduced, &sharding.varying})
    axes.insert(axes.end(), set->begin(), set->end());
  SortAndMerge(axes);
  return axes;
}

}  // namespace tessera::sharding

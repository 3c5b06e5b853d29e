// Local shapes, and the shard of a tensor that each device holds.
#pragma once
#include "sharding/dim_map.h"

namespace tessera::sharding {

// Returns the shape of one shard: each dim divided by its number of shards, rounded up.
Shape LocalShape(const Shape& shape, const TensorSharding& sharding);
int64_t LocalElements(const Shape& shape, const TensorSharding& sharding);

// Returns the shard, along a dim with these axes, that the device at row-major mesh position
// `index` holds. See docs/propagation.md, "Axes and their parts".
int64_t ShardIndex(const MeshDef& mesh, const AxisList& axes, int64_t index);

// Returns mesh position `index` with its coordinates along `axes`, read as one number,
// set to `shard`.
int64_t WithShardIndex(const MeshDef& mesh, const AxisList& axes, int64_t index, int64_t shard);

// Returns all axes along which devices hold different bits: the axes of dims, the unreduced axes
// and the varying ones.
AxisList VaryingAxes(const TensorSharding& sharding);

}  // namespace tessera::sharding

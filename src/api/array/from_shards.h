// The types of arrays that are made shard by shard.
#pragma once
#include "api/core/operands.h"

namespace tessera::api {

struct TypeAndPlace {
  const ir::Type *type, *placed;
};
// Returns the type and the place of an array with this sharding on the current mesh, whose Auto
// axes the spec may name. Throws ShardingError if it does not fit, and ShapeError for a wrong
// shape.
TypeAndPlace TypeFor(const base::Shape& shape, DType dtype, const PartitionSpec& spec, Call call);

}  // namespace tessera::api

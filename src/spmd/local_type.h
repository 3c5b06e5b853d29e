// Types of a value's shards.
#pragma once
#include "ir/program.h"
#include "ir/type.h"

namespace tessera::spmd {

// Returns the type of one device's shard of a value in that place.
const ir::Type* LocalType(const ir::Type* place);
// Returns the place of a value whose shards have these sizes, sharded over the axes of `place`.
const ir::Type* WithLocalSizes(const ir::Type* place, const base::Shape& sizes);
// Returns `type` with its unsharded dims padded to multiples of the shards of `cut`: f32[5] for 4
// shards becomes f32[8].
const ir::Type* Padded(const ir::Type* type, const sharding::TensorSharding& cut);
// Returns the place of a value over whole arrays: the one that propagation chose, or else its type,
// on the mesh without modes where an axis is Manual.
const ir::Type* PlaceIn(const ir::Program& program, ir::ValueId v);
// Returns `type` with no dim sharded.
const ir::Type* Whole(const ir::Type* type);
// Returns `type` with the dims unsharded whose axes do not divide their size.
const ir::Type* Even(const ir::Type* type);

}  // namespace tessera::spmd

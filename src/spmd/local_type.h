// Types of one device's part of a value.
#pragma once
#include "ir/program.h"
#include "ir/type.h"

namespace tessera::spmd {

// Returns the type of one device's part of a value that lies as `place` says.
const ir::Type* LocalType(const ir::Type* place);
// Returns the place of a value whose parts have those sizes, cut over the axes of `place`.
const ir::Type* WithLocalSizes(const ir::Type* place, const base::Shape& sizes);
// Returns `type` with the dims, whole there, that `cut` does not divide grown until it does.
const ir::Type* Padded(const ir::Type* type, const sharding::TensorSharding& cut);
// Returns the place of a value over whole arrays: the one that propagation chose, or else its type,
// on the mesh without modes where an axis is Manual.
const ir::Type* PlaceIn(const ir::Program& program, ir::ValueId v);
// Returns `type` with all dims whole.
const ir::Type* Whole(const ir::Type* type);
// Returns `type` with the dims whole that it does not divide.
const ir::Type* Even(const ir::Type* type);

}  // namespace tessera::spmd

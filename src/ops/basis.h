// Helpers for Jacobians: the unit arrays of a type, and the place of their dim in results.
#pragma once
#include "ir/builder.h"

namespace tessera::ops {

// Returns the unit arrays of the type, stacked along a new leading dim. Array i is 1 at
// element i and 0 elsewhere.
ir::ValueId Basis(ir::Builder& builder, const ir::Type* type);

// Returns `v`, whose leading dim runs over a basis, with the basis's own dims in the place of
// that dim.
ir::ValueId BasisFirst(ir::Builder& builder, ir::ValueId v, const base::Shape& basis);
// Puts the basis's dims after all other dims.
ir::ValueId BasisLast(ir::Builder& builder, ir::ValueId v, const base::Shape& basis);

}  // namespace tessera::ops

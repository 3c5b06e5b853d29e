// What Jacobians need of ops: the unit arrays of a type, and where their dim goes in results.
#pragma once
#include "ir/builder.h"

namespace tessera::ops {

// Returns, along a dim in front, the arrays of the type that are 1 in one element and 0 elsewhere,
// in the elements' order.
ir::ValueId Basis(ir::Builder& builder, const ir::Type* type);

// Returns `v`, which has the dim of a basis in front, with the basis's own dims in its place.
ir::ValueId BasisFirst(ir::Builder& builder, ir::ValueId v, const base::Shape& basis);
// The same behind all other dims.
ir::ValueId BasisLast(ir::Builder& builder, ir::ValueId v, const base::Shape& basis);

}  // namespace tessera::ops

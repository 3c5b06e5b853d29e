// The invariants of every program.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Throws an error if a value is used before it is defined, or if an instruction's result types are
// not those that its op gives. In a device program the types are not checked: only the order, and
// that ops with a dimension map have no regions.
void Verify(const Program& program);

}  // namespace tessera::ir

// Which values of a program are zero, whatever its other inputs are.
#pragma once
#include "base/ids.h"
#include "ir/program.h"

namespace tessera::ir {

// Returns the values that are always zero: constants 0, and results of ops that are linear in
// operands that are zero. `given` are inputs that are zero too.
ValueSet ZerosOf(const Program& program, ValueSet given = {});

}  // namespace tessera::ir

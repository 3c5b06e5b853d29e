// Which values of a program are zero, whatever its inputs are.
#pragma once
#include "base/ids.h"
#include "ir/program.h"

namespace tessera::transforms {

// Returns the values that are always zero: constants 0, and results of ops that are linear in
// operands that are zero.
base::IdVector<ir::ValueId, bool> ZerosOf(const ir::Program& program);

}  // namespace tessera::transforms

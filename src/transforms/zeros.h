// Which values of a program are zero, whatever its inputs are.
#pragma once
#include "base/ids.h"
#include "ir/program.h"

namespace tessera::transforms {

// Returns the values that are zero by the program's text: constants 0, and results of ops that are
// linear in operands which are zero.
base::IdVector<ir::ValueId, bool> ZerosOf(const ir::Program& program);

}  // namespace tessera::transforms

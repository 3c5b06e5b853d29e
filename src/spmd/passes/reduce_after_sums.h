// Sums of values that are reduced over devices: reduced once, after the sum.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Replaces elementwise ops that are linear in operands which come from one kind of reduction, and
// are read by it alone, by the ops of what is not reduced yet and one reduction behind them. Terms
// that are whole, and those over other axes, count on one device. What nothing reads any more
// stays.
void JoinReductions(ir::Program& device);

}  // namespace tessera::spmd

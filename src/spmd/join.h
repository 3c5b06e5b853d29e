// Sums of values that are reduced over devices: reduced once, after the sum.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Replaces an elementwise op that is linear in operands which all come from one kind of reduction
// over the same axes, and are read by it alone, by the op of what is not reduced yet and one
// reduction behind it. Reductions that nothing reads any more stay.
void JoinReductions(ir::Program& device);

}  // namespace tessera::spmd

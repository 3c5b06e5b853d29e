// Sums that loops carry: reduced once, behind the loop.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Where a loop reduces what it adds to a carried value, in each iteration and for this alone, every
// device carries its part of the sum, and the sum is reduced behind the loop. The same of any op
// that is linear in what is carried and reduced. No device needs more memory for it.
void ReduceAfterLoops(ir::Program& device);

}  // namespace tessera::spmd

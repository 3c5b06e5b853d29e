// The pass reduce_after_loops: sums that loops carry are reduced once, after the loop.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// If the body of a loop reduces a value only to add it to a carried value, devices carry partial
// sums, and one reduction follows the loop:
//   for: s = s + all_reduce(x)   becomes   for: t = t + x; s = all_reduce(t)
// The same holds for ops that are linear in the carried and the reduced values, as a product with a
// value that all these devices have, if the sum after the loop sends a quarter less. No device
// needs more memory.
void ReduceAfterLoops(ir::Program& device);

}  // namespace tessera::spmd

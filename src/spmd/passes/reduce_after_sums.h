// The pass reduce_after_sums: one reduction for a sum of reduced values.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Reduces after elementwise ops rather than before them, where an op is jointly linear in its
// operands and alone reads reductions of one kind:
//   all_reduce(a) + all_reduce(b)  becomes  all_reduce(a + b)
// Whole terms, and terms that are reduced over fewer axes, count on one device. Dead instructions
// stay.
void ReduceAfterSums(ir::Program& device);

}  // namespace tessera::spmd

// The pass reduce_after_sums: one reduction for a sum of reduced values.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Reduces after an elementwise op rather than before it, if the op is jointly linear in its
// operands and is the only reader of reductions of one kind:
//   all_reduce(a) + all_reduce(b)  becomes  all_reduce(a + b)
// Terms that are not reduced, or are reduced over fewer axes, count on one device along the other
// axes. Dead instructions stay.
void ReduceAfterSums(ir::Program& device);

}  // namespace tessera::spmd

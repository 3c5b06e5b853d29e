// The pass split_reductions: reductions of one array that a fused group can run at once.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Splits a reduction over trailing dims if another reduction of the same elements has fewer:
//   sum(a, {2}), sum(a, {0,1,2})  becomes  sum(a, {2}), sum(sum(a, {2}), {0,1})
// One fused group reduces over one number of trailing dims, so the array would be stored between
// two groups. Reductions stay whole if their rows are short, or if rows of 16-bit floats would be
// rounded.
void SplitReductions(ir::Program& device);

}  // namespace tessera::spmd

// Loops over blocks of rows of which a mask hides columns.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Cuts loops over blocks, as a causal mask hides from each row the columns behind it: into loops
// over fewer blocks, each of which leaves out the columns that all its rows have hidden. What is
// made of hidden columns is one number per row, so that one column stands for all of them in sums,
// maxima and products: results are those of the whole, but for the order of sums. Loops of which
// that is not true stay as they are.
void SkipMasked(ir::Program& device);

}  // namespace tessera::spmd

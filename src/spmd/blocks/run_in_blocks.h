// Contractions, and what is made of them, run block by block.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Where a product is much larger than what it is made of and what is made of it, as the scores of
// attention are, it is computed in loops over blocks, with all that reads it: no more than a block
// is ever in memory. Its dims decide, whatever the ops are called (spmd/blocks/find_blocks.h). What
// reads it after something else had to be done first computes it again.
void RunInBlocks(ir::Program& device);

}  // namespace tessera::spmd

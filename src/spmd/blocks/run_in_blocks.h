// Runs large products, and the instructions that read them, block by block.
#pragma once
#include "ir/program.h"
#include "spmd/blocks/limits.h"

namespace tessera::spmd {

// Replaces products that are much larger than their operands, such as the scores of attention, by
// loops over blocks, together with all instructions that read them. No more than a block of a
// product is in memory at once. Dims decide, not the names of ops (spmd/blocks/find_blocks.h). An
// instruction that needs results of the loop and the product computes the product again, in a loop
// of its own. The program has no effects. Returns whether it has such loops now.
bool RunInBlocks(ir::Program& device, const BlockLimits& limits = CurrentBlockLimits());

}  // namespace tessera::spmd

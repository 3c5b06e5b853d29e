// Types of instructions that run in blocks.
#pragma once
#include "spmd/blocks/find_blocks.h"

namespace tessera::spmd {

// Whether the instruction makes a block of its result of blocks of its operands. Some cannot be
// told of blocks: sizes are in their parameters.
bool TakesBlocks(const ir::Program& p, const ir::Instruction& instruction, const DimOfCall& dims,
                 int64_t block);

}  // namespace tessera::spmd

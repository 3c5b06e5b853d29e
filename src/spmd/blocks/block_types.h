// Types of instructions that run in blocks.
#pragma once
#include "spmd/blocks/block_group.h"

namespace tessera::spmd {

// Whether the instruction computes a block of its result from blocks of its operands. It does not
// if its parameters hold sizes of the whole.
bool TakesBlocks(const ir::Program& p, const ir::Instruction& instruction, const DimOfCall& dims,
                 int64_t block);

// Returns the step of an iota along each dim.
std::vector<int64_t> IotaSteps(const ir::Program& p, const ir::Instruction& iota);

}  // namespace tessera::spmd

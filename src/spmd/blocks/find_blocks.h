// Finds products that are much larger than their operands, and the loops over blocks that keep them
// out of memory.
#pragma once
#include <set>
#include <vector>

#include "spmd/blocks/block_group.h"
#include "spmd/blocks/limits.h"

namespace tessera::spmd {

// Returns the groups of all products for which blocks pay. They can run in an order in which none
// waits for a later one. `tried`: values that were found to need no blocks, or have them; they are
// skipped, and new ones are added.
std::vector<BlockGroup> FindBlocks(const ir::Program& device, const BlockLimits& limits,
                                   std::set<ir::ValueId>& tried);

}  // namespace tessera::spmd

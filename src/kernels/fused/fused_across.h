// Groups of many short rows, in which each lane has a row of its own.
//
// As many rows as a tile has elements form a block, which is copied to scratch column by column.
// The programs see the block as one long row and process one column at a time. A reduction is an
// elementwise step into the accumulators of the rows, and a value per row is a tile.
#pragma once
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {

// Plans the blocks of a group whose layout is across rows.
void AddBlocks(FusedConfig& config);

// A kernel function: runs the config's programs on the blocks of this part.
void RunAcross(const plan::KernelArgs& call);

}  // namespace tessera::kernels

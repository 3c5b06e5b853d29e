// Groups of many short rows: each lane has a row of its own.
//
// A block of rows, as many as a tile has elements, is copied to scratch column by column. There it
// is one long row of the programs, which handle a column at a time: a reduction is an elementwise
// step into accumulators that are the rows' own, and a value per row is a tile.
#pragma once
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {

// Plans the blocks of a group whose layout is across rows.
void AddBlocks(FusedConfig& config);

// A kernel function: runs the config's programs on this part's blocks.
void RunAcross(const plan::KernelArgs& call);

}  // namespace tessera::kernels

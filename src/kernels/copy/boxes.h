// Assembles an array from boxes of several operands.
#pragma once
#include "kernels/kernel.h"
#include "plan/fused.h"

namespace tessera::kernels {

// Returns a kernel that writes a dense array of the shape: box b gets its elements from
// in[b.operand]. The boxes cover the array and do not overlap. The stride of the last dim is 1, or
// all strides are 0.
plan::Kernel CopyBoxes(int32_t itemsize, const Shape& shape,
                       const std::vector<plan::FusedDesc::Part>& boxes);

// A kernel whose operand 0 is assembled in scratch, tile by tile, so that it stays in the cache.
struct OnTilesDesc {
  int32_t itemsize;
  Shape shape;  // of operand 0
  std::vector<plan::FusedDesc::Part> boxes;
  int64_t tile_dims;     // there is one tile for each index of this many leading dims
  plan::Kernel of_tile;  // computes the results of a tile, which follow those of the tile before
  int64_t result_bytes;  // of a tile
  int64_t sources;       // number of the boxes' operands
  int64_t others;        // number of the kernel's operands apart from operand 0
};
// The kernel reads the boxes' operands, then the other operands.
plan::Kernel OnTiles(const OnTilesDesc& desc);

}  // namespace tessera::kernels

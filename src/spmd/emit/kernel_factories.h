// Kernels that plans need in addition to the kernels of ops. A layer that sees the kernels
// supplies them.
#pragma once
#include <functional>
#include <vector>

#include "plan/fused.h"
#include "plan/plan.h"

namespace tessera::spmd {

struct KernelFactories {
  plan::Kernel (*fused)(const plan::FusedDesc&);
  // A strided copy whose offsets depend on the device. Sizes are in elements. `out` is dense
  // without strides. With `fill`, the value in[1] fills the rest of `out`.
  struct DeviceCopy {
    int32_t itemsize;
    std::vector<int64_t> box = {}, in_strides = {}, out_strides = {};
    std::vector<int64_t> in_offsets = {}, out_offsets = {};  // per device; empty: 0
    std::vector<bool> skip = {};                             // per device: only fills
    int64_t out_size = 0;
    bool fill = false;
    bool streams = false;  // out is part of a buffer larger than the caches
  };
  plan::Kernel (*device_copy)(const DeviceCopy&);
  plan::Kernel (*copy_whole)(int64_t bytes);  // operand and result may be one buffer
  // Makes a dense array of the shape. Each part is a box of an operand, or one element of it.
  plan::Kernel (*copy_boxes)(int32_t itemsize, const std::vector<int64_t>& shape,
                             const std::vector<plan::FusedDesc::Part>& boxes);
  // A kernel whose operand 0, an array of the shape, is assembled from parts in scratch: one tile
  // for each index of the first `tile_dims` dims. `of_tile` computes the results of a tile, which
  // follow those of the tile before. The kernel reads `sources` operands of the parts, then the
  // `others` of of_tile.
  struct OnTiles {
    int32_t itemsize;
    std::vector<int64_t> shape;
    std::vector<plan::FusedDesc::Part> boxes;
    int64_t tile_dims;
    plan::Kernel of_tile;
    int64_t result_bytes;  // of a tile
    int64_t sources, others;
  };
  plan::Kernel (*on_tiles)(const OnTiles&);
  plan::CombineFn (*combiner)(DType, Reduction);
  // Runs a plan on the buffers of one device: the device's own plan, or the only one.
  std::function<plan::Kernel(std::vector<plan::Plan>)> nested;
};

}  // namespace tessera::spmd

// Kernels that plans need beside those of ops; the layer that sees them gives them.
#pragma once
#include <functional>
#include <vector>

#include "plan/fused.h"
#include "plan/plan.h"

namespace tessera::spmd {

struct KernelFactories {
  plan::Kernel (*fused)(const plan::FusedDesc&);
  // A strided copy whose offsets depend on the device. All in elements; out is dense unless strides
  // are given. `fill` (then in[1]) is what the rest of out holds.
  struct DeviceCopy {
    int32_t itemsize;
    std::vector<int64_t> box = {}, in_strides = {}, out_strides = {};
    std::vector<int64_t> in_offsets = {}, out_offsets = {};  // per device; empty: 0
    std::vector<bool> skip = {};                             // per device: only fills
    int64_t out_size = 0;
    bool fill = false;
    bool streams = false;  // out is part of something larger than the caches
  };
  plan::Kernel (*device_copy)(const DeviceCopy&);
  plan::Kernel (*copy_whole)(int64_t bytes);  // may be given one buffer as both
  plan::CombineFn (*combiner)(DType, Reduction);
  // Runs a plan of its own on the buffers of one device: that of the device, or of device 0 if
  // there is one for all.
  std::function<plan::Kernel(std::vector<plan::Plan>)> nested;
};

}  // namespace tessera::spmd

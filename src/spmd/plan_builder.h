// From a scheduled device program to the plan that the runtime executes.
#pragma once
#include <functional>

#include "ir/move_params.h"
#include "ops/manual.h"
#include "plan/fused.h"
#include "plan/plan.h"
#include "spmd/schedule.h"

namespace tessera::spmd {

// Kernels that the plan builder needs by itself; given by the layer that sees them.
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
  };
  plan::Kernel (*device_copy)(const DeviceCopy&);
  plan::Kernel (*copy_whole)(int64_t bytes);  // may be given one buffer as both
  plan::CombineFn (*combiner)(DType, Reduction);
  // Runs a plan of its own on the buffers of one device: that of the device, or of device 0 if
  // there is one for all.
  std::function<plan::Kernel(std::vector<plan::Plan>)> nested;
};

// `devices`: of the process. `donated`: per input and capture.
plan::Plan BuildPlan(const ir::Program& device, const Schedule& schedule,
                     const KernelFactories& kernels, int32_t devices,
                     const std::vector<bool>& donated);

// Returns the instances of a layout on so many devices.
plan::Layout MakeLayout(const LayoutKey& key, int32_t devices);

struct MoveOperand {
  const ir::Type* type;  // global
  const plan::Layout* layout;
};

// Returns the exchange, but for its values, that makes `to`: of one operand of another sharding,
// or, with `halo`, of what it says is read of the operands.
plan::Exchange MakeExchange(const std::vector<MoveOperand>& from, const ir::Type& to,
                            const plan::Layout& to_layout, const KernelFactories& kernels,
                            const ir::HaloParams* halo = nullptr);
// The same, in which each device gets another's array, and zeros where none is named.
plan::Exchange MakePermutation(const MoveOperand& from, const plan::Layout& to_layout,
                               const ops::PermuteParams& params);

}  // namespace tessera::spmd

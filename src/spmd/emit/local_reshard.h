// Moves between shardings for which no device needs data of another device.
#pragma once
#include "ir/program.h"
#include "spmd/emit/kernel_factories.h"

namespace tessera::spmd {

// Returns how each device computes `out` from `in`: the box that it copies, and the offset of the
// box in the result. The rest is zero. A value that all devices hold is its own partial maximum.
KernelFactories::DeviceCopy LocalMove(const ir::Program& device, ir::ValueId in, ir::ValueId out,
                                      int32_t devices);

}  // namespace tessera::spmd

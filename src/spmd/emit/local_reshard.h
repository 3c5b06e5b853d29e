// Moves between shardings in which no device needs what another one has.
#pragma once
#include "ir/program.h"
#include "spmd/emit/kernel_factories.h"

namespace tessera::spmd {

// Returns how each device makes `out` of `in`: it copies a box of its own to a place of its own;
// what is not covered is zero. A value that all hold is its own partial maximum.
KernelFactories::DeviceCopy LocalMove(const ir::Program& device, ir::ValueId in, ir::ValueId out,
                                      int32_t devices);

}  // namespace tessera::spmd

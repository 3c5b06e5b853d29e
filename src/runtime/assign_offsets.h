// Offsets of values in the run's block, in the workers' frames, and in the buffers of outputs.
#pragma once
#include "runtime/storages.h"

namespace tessera::runtime {

// Assigns offsets to values that do not leave the run: in a worker's frame if they live inside one
// node, else in the run's block, or in the buffers of outputs that are made later.
void AssignOffsets(Memory& memory);

}  // namespace tessera::runtime

// The programs of a fused group.
#pragma once
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {

// Writes the programs of `graph` into the config, whose layout must be set.
void Assemble(const plan::FusedDesc& desc, LaneGraph& graph, FusedConfig& config);

}  // namespace tessera::kernels

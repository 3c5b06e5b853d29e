// Kernel functions of fused groups.
#pragma once
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {

// Runs the config's programs on the rows, or ranges of rows, of this part.
void RunFused(const plan::KernelArgs& call);
// The same for an iteration space of less than a vector (FusedConfig::is_small).
void RunFusedSmall(const plan::KernelArgs& call);

}  // namespace tessera::kernels

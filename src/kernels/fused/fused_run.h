// Running a fused group.
#pragma once
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {

// A kernel function: runs the config's programs on this part's rows, or ranges of rows.
void RunFused(const plan::KernelArgs& call);
// The same where all of the space is less than a vector (FusedConfig::is_small).
void RunFusedSmall(const plan::KernelArgs& call);

}  // namespace tessera::kernels

// Describes a fused group to the factory of fused kernels.
#pragma once
#include "plan/fused.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

plan::FusedDesc DescribeFused(const ir::Program& program, const FusedItem& group);

}  // namespace tessera::spmd

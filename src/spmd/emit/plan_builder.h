// From a scheduled device program to the plan that the runtime executes.
#pragma once
#include "plan/plan.h"
#include "spmd/emit/kernel_factories.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// `devices`: of the process. `donated`: per input and capture.
plan::Plan BuildPlan(const ir::Program& device, const Schedule& schedule,
                     const KernelFactories& kernels, int32_t devices,
                     const std::vector<bool>& donated);

}  // namespace tessera::spmd

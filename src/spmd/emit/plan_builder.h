// Turns a scheduled device program into the plan that the runtime executes.
#pragma once
#include "plan/plan.h"
#include "spmd/emit/kernel_factories.h"
#include "spmd/emit/plan_parts.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// `devices`: the number of devices of the process. `donated`: whether the plan may reuse the
// buffers of each input and capture; empty: it may reuse none.
plan::Plan BuildPlan(const ir::Program& device, const Schedule& schedule,
                     const KernelFactories& kernels, int32_t devices,
                     const std::vector<bool>& donated, PlanRunner runner = {});

}  // namespace tessera::spmd

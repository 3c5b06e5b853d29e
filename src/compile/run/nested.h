// Plans that run inside of another plan, on the buffers of one device.
#pragma once
#include <vector>

#include "plan/plan.h"

namespace tessera::compile {

// Returns the kernel that runs the plan of the device, or the only plan. Its operands and results
// are the plan's inputs and outputs.
plan::Kernel NestedRun(std::vector<plan::Plan> plans);

}  // namespace tessera::compile

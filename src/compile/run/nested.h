// A plan that runs inside of another, on the buffers of one device.
#pragma once
#include <vector>

#include "plan/plan.h"

namespace tessera::compile {

// Returns the kernel that runs the device's plan, or the only one. Its operands and results are the
// plan's inputs and outputs.
plan::Kernel NestedRun(std::vector<plan::Plan> plans);

}  // namespace tessera::compile

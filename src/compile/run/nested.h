// Plans that run inside of another plan, on the buffers of one device.
#pragma once
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tessera::compile {

// Returns the kernel that runs the plan of the device, or the only plan. Its operands and results
// are the plan's inputs and outputs.
// `is_here`: whether this process hosts a device. Plans of other devices are dropped.
plan::Kernel NestedRun(std::vector<plan::Plan> plans,
                       absl::FunctionRef<bool(int32_t device)> is_here);

}  // namespace tessera::compile

// The peak memory of a schedule. Schedules have one on abstract meshes of any size, which have no
// plan. A run needs at most as much, since the values of a plan share memory (runtime/flow.cc).
#pragma once
#include <cstdint>

#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Returns the most bytes that one device holds at any time: arguments, results and temporaries.
int64_t PeakBytes(const ir::Program& device, const Schedule& schedule);

}  // namespace tessera::spmd

// How much memory a schedule needs at most. Of a schedule, not of a plan: abstract meshes of any
// size have no plan. A run never needs more, as values of a plan share memory (runtime/flow.cc).
#pragma once
#include <cstdint>

#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Returns the most bytes that one device holds at any time: arguments, results and temporaries.
int64_t PeakBytes(const ir::Program& device, const Schedule& schedule);

}  // namespace tessera::spmd

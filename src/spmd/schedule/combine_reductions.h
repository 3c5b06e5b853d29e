// Small reductions that follow one another, as one exchange.
#pragma once
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Puts small reductions over the same axes into one item: devices then meet once for all of them.
// Small items that read their results come after. A large one that does ends the group, as do
// regions, calls of the host, effects, and 4 MiB that wait.
void CombineReductions(const ir::Program& device, Schedule& schedule);

}  // namespace tessera::spmd

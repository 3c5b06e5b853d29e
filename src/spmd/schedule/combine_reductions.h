// Combines small reductions into one exchange.
#pragma once
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Merges small reductions over the same axes into one item, so that devices meet once for all of
// them. Small items that read their results are delayed until after that item. A group ends at a
// large item that reads one of its results, at a region, host call or other effect that does, and
// when more than 4 MiB of operands wait.
void CombineReductions(const ir::Program& device, Schedule& schedule);

}  // namespace tessera::spmd

// Small reductions that follow one another, as one exchange.
#pragma once
#include "spmd/schedule.h"

namespace tessera::spmd {

// Puts small reductions over the same axes into one item where nothing large lies between them:
// devices then meet once for all of them. What reads their results, if small too, comes after.
void CombineReductions(const ir::Program& device, Schedule& schedule);

}  // namespace tessera::spmd

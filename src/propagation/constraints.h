// Constraints, before propagation.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Lets constraints act on their operands: a closed constraint of a value without a sharding of its
// own is that value's sharding, and the last one of a chain of constraints is what later users see.
void ApplyConstraints(FlatGraph& graph);

}  // namespace tessera::propagation::engine

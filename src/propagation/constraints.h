// Applies constraints to their operands, before propagation.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Lets constraints act on their operands: a closed constraint becomes the sharding of a value that
// has none of its own, and later users see the last constraint of a chain.
void ApplyConstraints(FlatGraph& graph);

}  // namespace tessera::propagation::engine

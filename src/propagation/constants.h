// Constants, before propagation.
#pragma once
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Gives every user of a constant, of an expression of constants, or of a scalar that is repeated, a
// copy of its own: what one user wants of a constant is nothing to the others. The first user keeps
// the value itself.
void SplitConstants(FlatGraph& graph, std::vector<EngineResult::ConstantCopy>& copies);

}  // namespace tessera::propagation::engine

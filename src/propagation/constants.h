// Copies constants for each user, before propagation.
#pragma once
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Gives each user of a constant, of an expression of constants, or of a repeated scalar
// its own copy, so that the users' shardings do not affect each other. The first user
// keeps the value itself.
void SplitConstants(FlatGraph& graph, std::vector<EngineResult::ConstantCopy>& copies);

}  // namespace tessera::propagation::engine

// Why a value is sharded as it is: where each of its axes came from, and which it did not get.
#pragma once
#include <string>

#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Returns some lines: the sharding of v; for each axis of each dim the sharding it was given with
// and the ops it travelled; and for each axis that a neighbour wanted here what kept it out and
// what would let it in. The result must have been recorded (Options::record).
std::string Explain(const Result& result, ValueId v, const Names& names);

}  // namespace tessera::propagation::engine

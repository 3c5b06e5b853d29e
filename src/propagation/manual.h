// Shardings at the border of a manual region. Values inside do not mention the region's manual
// axes; outside, these are the major axes of each dim. See docs/propagation.md.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Returns `sharding` without these axes.
TensorSharding WithoutAxes(TensorSharding sharding, const AxisList& axes);

// Translate the sharding of an edge's targets to the side of its sources, and back. A null
// sharding is open.
TensorSharding SeenBySources(const Edge& edge, const TensorSharding* target);
TensorSharding SeenByTargets(const Edge& edge, const TensorSharding& source);

}  // namespace tessera::propagation::engine

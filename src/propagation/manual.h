// What crosses the border of a manual region: its values do not mention the axes that it has as
// Manual; outside those are the major axes of each dim. See docs/propagation.md.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Returns `sharding` without the region's axes.
TensorSharding WithoutAxes(TensorSharding sharding, const AxisList& axes);

// The sharding of an edge's targets as its sources see it, and back. A null sharding is open.
TensorSharding SeenBySources(const Edge& edge, const TensorSharding* target);
TensorSharding SeenByTargets(const Edge& edge, const TensorSharding& source);

}  // namespace tessera::propagation::engine

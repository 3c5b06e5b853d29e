// Shardings at the border of a program.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// The clean-up of what crosses the function's border (docs/propagation.md): axes that do not
// divide the dim are cut; then, unless `keep_sub_axes`, an open dim is cut at its first sub-axis
// behind the axes that `typed` has, which are Explicit.
TensorSharding AtBorder(const TensorSharding& sharding, const Shape& shape, bool keep_sub_axes,
                        const TensorSharding* typed = nullptr);
// All dims closed; what must stay replicated is forgotten.
TensorSharding Closed(const TensorSharding& sharding);

}  // namespace tessera::propagation::engine

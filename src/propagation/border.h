// Shardings at the border of a program.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Whether an open dim keeps its sub-axes at the border.
enum class SubAxes : uint8_t { kCut, kKeep };

// Returns the sharding that an argument or result of the function gets (docs/propagation.md): axes
// that do not divide the dim are cut; then, unless `sub_axes` says to keep them, an open dim is cut
// at its first sub-axis after the Explicit axes, which `typed` has.
TensorSharding AtBorder(const TensorSharding& sharding, const Shape& shape, SubAxes sub_axes,
                        const TensorSharding* typed = nullptr);
// Returns the sharding with all dims closed, and without the axes that must stay replicated.
TensorSharding Closed(const TensorSharding& sharding);

}  // namespace tessera::propagation::engine

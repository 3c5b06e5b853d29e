// Splits the result of a halo exchange into the edges, which cross devices, and the elements that
// each device already has. Elementwise readers then read both where they are.
#pragma once
#include <optional>
#include <vector>

#include "ir/move_params.h"
#include "ir/type.h"

namespace tessera::spmd {

// Along a dim of the result with `size` positions on each device: [begin, end) are the positions
// begin + shift, ... of its own shard of the operand. The others are edges.
struct OwnRange {
  int64_t begin = 0, end = 0, size = 0, shift = 0;
  int64_t edges() const { return begin + size - end; }
};

// Returns the range of each dim. Returns nothing if ranges differ between devices, if there are two
// operands that are not a fill, or if devices have less than half of the elements that they read.
std::optional<std::vector<OwnRange>> OwnRangesOf(const ir::HaloParams& halo);

// Returns the exchange of only the edges of dim d, one edge after the other. Along dims before d
// the exchange covers the devices' own elements. Its place is `to` with these sizes.
ir::HaloParams EdgesOf(const ir::HaloParams& halo, const std::vector<OwnRange>& own, size_t d);

}  // namespace tessera::spmd

// A halo exchange in two: the edges, which cross devices, and what each device has itself. What
// reads the result element by element then reads both where they are.
#pragma once
#include <optional>
#include <vector>

#include "ir/move_params.h"
#include "ir/type.h"

namespace tessera::spmd {

// Along a dim of the result, positions [begin, end) of `size` on each device are those of its own
// part of the operand, `shift` further on; what is around them are edges.
struct OwnRange {
  int64_t begin = 0, end = 0, size = 0, shift = 0;
  int64_t edges() const { return begin + size - end; }
};

// Returns the ranges by dim; none if they differ between devices, if there is more than one operand
// beside a fill, or if devices have less than half of what they read.
std::optional<std::vector<OwnRange>> OwnRangesOf(const ir::HaloParams& halo);

// Returns the exchange of dim d's edges only, of what dims before it have of their own: the two
// edges one behind the other. Its place is `to` with sizes of its own.
ir::HaloParams EdgesOf(const ir::HaloParams& halo, const std::vector<OwnRange>& own, size_t d);

}  // namespace tessera::spmd

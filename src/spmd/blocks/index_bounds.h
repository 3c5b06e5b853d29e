// What is known of whole numbers in device programs: positions, and what is made of them.
#pragma once
#include <optional>
#include <vector>

#include "ir/program.h"

namespace tessera::spmd {

// The element at position p is at least least + p . strides, and at most most + p . strides, on
// every device.
struct IndexBounds {
  int64_t least = 0, most = 0;
  std::vector<int64_t> strides;  // per dim; 0 where its size is 1
};
using ValueBounds = std::vector<std::optional<IndexBounds>>;  // per value

// Returns what is known of a program's values, from what is known of its inputs.
ValueBounds BoundsOf(const ir::Program& device, const ValueBounds& inputs);

// Returns that of slices [begin, end) of the first dim of a value.
std::optional<IndexBounds> BoundsOfSlices(const std::optional<IndexBounds>& whole, int64_t begin,
                                          int64_t end);

// Whether comparing x and y of one shape, or with ones and without dims, is true at all positions
// whose place in `dim` is in [begin, end), or false at all; none: neither is known.
std::optional<bool> Compared(plan::ScalarOp op, const IndexBounds& x, const IndexBounds& y,
                             const base::Shape& shape, int dim, int64_t begin, int64_t end);

}  // namespace tessera::spmd

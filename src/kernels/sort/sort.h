// Sorting along a dim.
#pragma once
#include <vector>

#include "kernels/copy/copy_bytes.h"
#include "kernels/kernel.h"
#include "kernels/parts.h"

namespace tessera::kernels {

// Sorts all operands (of one shape) along `dim` by the first `num_keys` of them,
// lexicographically and stably. NaN sorts last; -0 and +0 are equal. A complex key is two keys: its
// real, then its imaginary part. `descending` reverses the order of unequal keys only.
plan::Kernel Sort(const std::vector<DType>& dtypes, const Shape& shape, int64_t dim,
                  int64_t num_keys, bool descending);

// Numbers by which lanes are sorted: an operand, or a part of a complex operand.
struct SortKeyPart {
  int64_t operand = 0;
  DType dtype;
  int64_t offset = 0;  // of the part in an element, in bytes
};

// Operands are [outer, n, inner]. A lane is the n elements at one outer and one inner index.
struct SortConfig {
  std::vector<DType> dtypes;
  int64_t n = 0, inner = 1, lanes = 0;
  std::vector<SortKeyPart> keys;
  bool descending = false;
};

// Returns the position of the first element of a lane.
inline int64_t LaneBegin(const SortConfig& config, int64_t lane) {
  return lane / config.inner * config.n * config.inner + lane % config.inner;
}

}  // namespace tessera::kernels

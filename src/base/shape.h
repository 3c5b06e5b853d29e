// Arithmetic of dense row-major shapes: element counts, strides, and the sizes before and after
// a dim.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/at.h"

namespace tessera::base {

// Sizes of dims, outer first.
using Shape = std::vector<int64_t>;

// Returns the number of elements, which is 1 for a scalar.
inline int64_t Elements(const Shape& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

// Returns the row-major strides in elements. The stride of the last dim is 1.
inline std::vector<int64_t> DenseStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// A shape as [outer, n, inner], where n is the size of one dim.
struct AroundDim {
  int64_t outer = 1, n = 1, inner = 1;
};
inline AroundDim Around(const Shape& shape, int64_t dim) {
  AroundDim around;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    int64_t& part = d < dim ? around.outer : d == dim ? around.n : around.inner;
    part *= At(shape, d);
  }
  return around;
}

}  // namespace tessera::base

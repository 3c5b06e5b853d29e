// Running reductions of rows and of columns, in vectors.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/reductions.h"
#include "tessera/dtype.h"

namespace tessera::kernels {

// `n` rows of some columns, which are contiguous. Each result is the reduction of all elements of
// its column up to its row, or from it on if `reverse`. `out` may be `in`.
struct RunningColumns {
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  int64_t n = 0, stride = 1;  // elements from one row to the next
  int64_t columns = 1;
  int64_t batch = 1;  // as many of these, one after the other; 1 unless `columns` is
  bool reverse = false;
};

// Returns a function for kSum, kProd, kMax or kMin, or null if there is none in vectors.
using RunningFn = void (*)(const RunningColumns& c);
// Of one column, whose elements are contiguous.
RunningFn RunningRowOf(DType dtype, Reduction reduction);
// Of at most 1024 columns.
RunningFn RunningColumnsOf(DType dtype, Reduction reduction);

}  // namespace tessera::kernels

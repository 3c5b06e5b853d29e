// The two ways of Sort.
#pragma once
#include <vector>

#include "kernels/copy/copy_bytes.h"
#include "kernels/kernels.h"
#include "kernels/parts.h"

namespace tessera::kernels {

// Operands are [outer, n, inner]; a lane is the n elements of one outer and one inner index.
struct SortConfig {
  std::vector<DType> dtypes;
  int64_t n = 0, inner = 1, lanes = 0;
  int64_t num_keys = 1;
  bool descending = false;
};

// The first element of a lane.
inline int64_t LaneBegin(const SortConfig& config, int64_t lane) {
  return lane / config.inner * config.n * config.inner + lane % config.inner;
}

// One operand: its values are sorted, without indices.
plan::KernelFn SortValuesFunction(DType dtype);
int64_t SortValuesScratch(DType dtype, int64_t n);

}  // namespace tessera::kernels

// Reductions of any form, by plain loops.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// The shape of a reduction. Each size is the product of adjacent dims that are all kept or all
// reduced, outer first; dims of size 1 are dropped.
struct ReduceShape {
  std::vector<int64_t> sizes;
  std::vector<bool> reduced;
};

plan::Kernel ReduceMixed(DType dtype, Reduction reduction, const ReduceShape& shape);

}  // namespace tessera::kernels

// The k largest elements along the last dim.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Returns the k largest elements along the last dim and their indices (dtype `index`). NaN comes
// first; -0 is below +0; equal elements are in index order.
plan::Kernel TopK(DType dtype, DType index, const Shape& shape, int64_t k);

}  // namespace tessera::kernels

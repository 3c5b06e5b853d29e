// The k largest along the last dim.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// The k largest along the last dim, and their indices (dtype `index`): NaN first, -0 below +0,
// equal elements in index order.
plan::Kernel TopK(DType dtype, DType index, const Shape& shape, int64_t k);

}  // namespace tessera::kernels

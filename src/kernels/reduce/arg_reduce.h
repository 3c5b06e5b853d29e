// Where the largest or smallest element along a dim is.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Index (of dtype `index`) of the first largest (or smallest) element along `dim`, which is
// dropped; a NaN beats numbers, the first one wins. Out-of-range only if the dim is empty.
plan::Kernel ArgReduce(DType dtype, DType index, const Shape& shape, int64_t dim, bool largest);

}  // namespace tessera::kernels

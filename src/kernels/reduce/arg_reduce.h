// Index of the largest or smallest element along a dim.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Returns the index (of dtype `index`) of the first largest (or smallest) element along `dim`,
// which is dropped. NaN beats all numbers; of several NaNs the first wins. If the dim is empty, the
// index is out of range.
plan::Kernel ArgReduce(DType dtype, DType index, const Shape& shape, int64_t dim, bool largest);

}  // namespace tessera::kernels

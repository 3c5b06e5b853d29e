// Reductions over any dims.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Reduces in[0] over `dims`; the kept dims stay in order. Float sums and products of f16 and bf16
// accumulate in f32 and are rounded once. Integers wrap. kMax and kMin propagate NaN. The reduction
// of no elements is its identity (for max: -inf or the lowest value).
plan::Kernel Reduce(DType dtype, const Shape& shape, const std::vector<int64_t>& dims,
                    Reduction reduction);

}  // namespace tessera::kernels

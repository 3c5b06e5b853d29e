// Running reductions along a dim.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Inclusive running reduction along `dim`, from its end if `reverse`: kSum, kProd, kMax or kMin.
plan::Kernel Cumulative(DType dtype, const Shape& shape, int64_t dim, Reduction reduction,
                        bool reverse);
// Running log(sum(exp(x))) of floats.
plan::Kernel CumulativeLogSumExp(DType dtype, const Shape& shape, int64_t dim, bool reverse);

}  // namespace tessera::kernels

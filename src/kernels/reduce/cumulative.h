// Running reductions along a dim.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Running reduction along `dim`, inclusive; from the end if `reverse`. kSum, kProd, kMax, kMin.
plan::Kernel Cumulative(DType dtype, const Shape& shape, int64_t dim, Reduction reduction,
                        bool reverse);
// The same of log(sum(exp(x))), of floats.
plan::Kernel CumulativeLogSumExp(DType dtype, const Shape& shape, int64_t dim, bool reverse);

}  // namespace tessera::kernels

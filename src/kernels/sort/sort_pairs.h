// Sorting values with their positions: two operands, both of them keys.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Whether there is a kernel for two operands of these dtypes, the second one signed integers of 4
// or 8 bytes. Its config is a SortConfig.
bool SortsPairs(DType values, DType positions);
plan::KernelFn SortPairsFunction(DType values, DType positions);
int64_t SortPairsScratch(DType values, DType positions, int64_t n);

}  // namespace tessera::kernels

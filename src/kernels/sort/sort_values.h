// Sorts the values of one operand, without indices.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

plan::KernelFn SortValuesFunction(DType dtype);
int64_t SortValuesScratch(DType dtype, int64_t n);

}  // namespace tessera::kernels

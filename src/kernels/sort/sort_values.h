// One operand: its values are sorted, without indices.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

plan::KernelFn SortValuesFunction(DType dtype);
int64_t SortValuesScratch(DType dtype, int64_t n);

}  // namespace tessera::kernels

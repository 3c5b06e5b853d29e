// Reductions of [outer, rows, columns] over the rows.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

plan::Kernel ReduceColumns(DType dtype, Reduction reduction, int64_t outer, int64_t rows,
                           int64_t columns);

}  // namespace tessera::kernels

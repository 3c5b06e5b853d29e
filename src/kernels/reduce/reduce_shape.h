// The forms of a reduction, and the factories of each.
#pragma once
#include "kernels/kernels.h"

namespace tessera::kernels {

// Runs of neighbouring dims that are all kept or all reduced, outer first; dims of size 1 are gone.
struct ReduceShape {
  std::vector<int64_t> sizes;
  std::vector<bool> reduced;
};

// [outer, rows, columns] over the rows.
plan::Kernel ReduceColumns(DType dtype, Reduction reduction, int64_t outer, int64_t rows,
                           int64_t columns);
// Any other form, by plain loops.
plan::Kernel ReduceMixed(DType dtype, Reduction reduction, const ReduceShape& shape);

}  // namespace tessera::kernels

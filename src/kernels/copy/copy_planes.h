// The inner loops of the copy engine: one per strategy.
#pragma once
#include "kernels/copy/copy_plan.h"

namespace tessera::kernels {

// Rows that are contiguous in both buffers.
void CopyRows(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
              int64_t cols);

// One contiguous row of the input repeated, back to back, in the output.
void RepeatRow(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
               int64_t cols);

// Contiguous rows of the output, each of one item repeated.
void FillRows(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
              int64_t cols);

// The row index is contiguous in the input, the column index in the output.
void TransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                    int64_t cols);

// As TransposePlane, for outputs larger than the cache.
void StreamTransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                          int64_t cols);

// Any strides, for items of plan.item bytes.
CopyPlan::PlaneFn StridedPlane(int64_t item);

// Rows of a block of a transposition, bytes of each, and their distance in the buffer:
// a line more, for the overlap of streamed blocks and against set conflicts.
inline constexpr int64_t kBlockRows = 64, kBlockBytes = 512, kBlockPitch = kBlockBytes + 64;

}  // namespace tessera::kernels

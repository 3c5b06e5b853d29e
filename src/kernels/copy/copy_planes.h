// The inner loops of the copy engine, one for each strategy.
#pragma once
#include "kernels/copy/copy_plan.h"

namespace tessera::kernels {

// Copies rows that are contiguous in both buffers.
void CopyRows(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
              int64_t cols);

// Repeats one contiguous row of the input in adjacent rows of the output.
void RepeatRow(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
               int64_t cols);

// Fills each contiguous row of the output with one item of the input.
void FillRows(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
              int64_t cols);

// Copies a plane whose row index is contiguous in the input and whose column index is contiguous in
// the output.
void TransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                    int64_t cols);

// As TransposePlane, for outputs larger than the cache.
void StreamTransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                          int64_t cols);

// Returns the loop for any strides and for items of `item` bytes.
CopyPlan::PlaneFn StridedPlane(int64_t item);

// Rows of a block of a transposition, bytes of each row, and the distance between rows in
// the buffer. The distance has one extra line, for the overlap of streamed blocks and
// against set conflicts.
inline constexpr int64_t kBlockRows = 64, kBlockBytes = 512, kBlockPitch = kBlockBytes + 64;

}  // namespace tessera::kernels

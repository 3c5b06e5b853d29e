// Sums of several buffers into one, and copies past the caches.
#pragma once
#include <cstddef>
#include <cstdint>

#include "plan/plan.h"
#include "tessera/dtype.h"

namespace tessera::runtime {

// dst[i] = src[0][i] op src[1][i] op ..., from left to right, for n elements and k >= 1 sources.
// f16 and bf16 are combined in f32 and rounded once; integers wrap; max and min propagate NaN and
// order -0 below +0; bool has kSum, kMax = or, kProd, kMin = and. `stream`: dst is larger than the
// caches, write past them. dst does not overlap a source.
using ReduceFn = void (*)(const std::byte* const* src, int k, std::byte* dst, int64_t n,
                          bool stream);

// Returns null where the dtype does not have the reduction (kAnd and kOr of floats).
ReduceFn FindReduce(DType dtype, Reduction reduction);

// memcpy that writes past the caches. Other threads see all of it after FinishStreams only, which
// waits: once for many copies.
void StreamCopy(std::byte* dst, const std::byte* src, int64_t bytes);
void FinishStreams();

}  // namespace tessera::runtime

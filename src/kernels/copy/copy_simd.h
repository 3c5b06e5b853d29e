// SIMD routines of the copy kernels, chosen for this CPU. Addresses need no alignment.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera::kernels {

// Outputs from this size on are written with non-temporal stores: they would not stay in the
// cache, and the reads for ownership are saved. Below, such stores are a loss (2x in L2).
inline constexpr int64_t kStreamBytes = int64_t{16} << 20;
// Of a transposition: what it writes is far apart, and is out of L2 long before it is read.
inline constexpr int64_t kStreamTransposed = int64_t{4} << 20;

// out[c * out_stride + r] = in[r * in_stride + c] for r < rows, c < cols; strides in bytes,
// indices in elements: element size is that of the function.
using TransposeTileFn = void (*)(std::byte* out, int64_t out_stride, const std::byte* in,
                                 int64_t in_stride, int64_t rows, int64_t cols);

struct CopySimd {
  // Non-temporal copy, to be followed by StreamFence().
  void (*stream_copy)(std::byte* out, const std::byte* in, int64_t bytes);
  // Repeats the 16 bytes of `pattern`; `stream`: with non-temporal stores.
  void (*fill)(std::byte* out, int64_t bytes, const std::byte* pattern, bool stream);
  TransposeTileFn transpose[5];  // by log2 of the element size
};

const CopySimd& Simd();

// Makes non-temporal stores of this thread visible before its later stores.
void StreamFence();

}  // namespace tessera::kernels

// SIMD routines of the copy kernels, chosen for this CPU. Addresses need no alignment.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tessera::kernels {

// Outputs of at least this size are written with non-temporal stores. They would not stay in the
// cache, and such stores save reading the lines first. Below this size they are slower (2x in L2).
inline constexpr int64_t kStreamBytes = int64_t{16} << 20;
// The same limit for transpositions. They write far apart, so their output has left L2 before it
// is read.
inline constexpr int64_t kStreamTransposed = int64_t{4} << 20;

// Sets out[c * out_stride + r] = in[r * in_stride + c] for r < rows and c < cols. Strides are in
// bytes, indices in elements; each function is for one element size.
using TransposeTileFn = void (*)(std::byte* out, int64_t out_stride, const std::byte* in,
                                 int64_t in_stride, int64_t rows, int64_t cols);

struct CopySimd {
  // Copies with non-temporal stores. StreamFence() must follow.
  void (*stream_copy)(std::byte* out, const std::byte* in, int64_t bytes);
  // Repeats the 16 bytes of `pattern`. `stream`: with non-temporal stores.
  void (*fill)(std::byte* out, int64_t bytes, const std::byte* pattern, bool stream);
  TransposeTileFn transpose[5];  // by log2 of the element size
};

const CopySimd& Simd();

// Makes this thread's non-temporal stores visible before its later stores.
void StreamFence();

}  // namespace tessera::kernels

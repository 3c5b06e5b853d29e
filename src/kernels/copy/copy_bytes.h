// Helpers of kernels that move bytes: short copies and fills.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/copy/copy_simd.h"

namespace tessera::kernels {

// Like memcpy, for runs that are mostly so short that calling memcpy would take longer
// than copying.
inline void CopyBytes(std::byte* out, const std::byte* in, int64_t n) {
  if (n > 64) {
    std::memcpy(out, in, n);
  } else if (n >= 16) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) std::memcpy(out + i, in + i, 16);
    if (i < n) std::memcpy(out + n - 16, in + n - 16, 16);
  } else if (n >= 8) {
    std::memcpy(out, in, 8);
    std::memcpy(out + n - 8, in + n - 8, 8);
  } else if (n >= 4) {
    std::memcpy(out, in, 4);
    std::memcpy(out + n - 4, in + n - 4, 4);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i];
  }
}

// 16 bytes that repeat one item of 1, 2, 4, 8 or 16 bytes.
struct alignas(16) Pattern {
  std::byte bytes[16];
  Pattern(const std::byte* item, int64_t size) {
    switch (size) {
      case 1:
        Repeat<1>(item);
        break;
      case 2:
        Repeat<2>(item);
        break;
      case 4:
        Repeat<4>(item);
        break;
      case 8:
        Repeat<8>(item);
        break;
      default:
        Repeat<16>(item);
    }
  }

 private:
  template <int kSize>
  void Repeat(const std::byte* item) {
    for (int i = 0; i < 16; i += kSize) std::memcpy(bytes + i, item, kSize);
  }
};

// Fills n bytes with the pattern. n is a multiple of the pattern's item.
inline void FillBytes(std::byte* out, int64_t n, const Pattern& pattern, bool stream = false) {
  if (n >= 128) return Simd().fill(out, n, pattern.bytes, stream);
  for (; n >= 16; n -= 16, out += 16) std::memcpy(out, pattern.bytes, 16);
  for (int64_t piece = 8; piece > 0; piece /= 2) {
    if (n < piece) continue;
    std::memcpy(out, pattern.bytes, piece);
    out += piece;
    n -= piece;
  }
}

}  // namespace tessera::kernels

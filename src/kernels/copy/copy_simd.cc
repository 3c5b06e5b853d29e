// Streaming copies, fills, and transpositions in registers, compiled for every instruction set.
#include "kernels/copy/copy_simd.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/copy/copy_simd.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns the number of bytes from p to the next multiple of 64.
inline int64_t ToLine(const std::byte* p) {
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(p) & 63);
}

void StreamCopy(std::byte* out, const std::byte* in, int64_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t head = std::min(ToLine(out), bytes);
  std::memcpy(out, in, head);
  auto* to = reinterpret_cast<uint8_t*>(out);
  auto* from = reinterpret_cast<const uint8_t*>(in);
  int64_t i = head;
  for (; i + 64 <= bytes; i += 64)
    for (int64_t k = 0; k < 64; k += lanes) hn::Stream(hn::LoadU(d, from + i + k), d, to + i + k);
  std::memcpy(out + i, in + i, bytes - i);
}

void Fill(std::byte* out, int64_t bytes, const std::byte* pattern, bool stream) {
  const hn::ScalableTag<uint8_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // The repeated pattern, from which 64 bytes can be loaded at any phase.
  alignas(64) std::byte repeated[80];
  for (int i = 0; i < 80; i += 16) std::memcpy(repeated + i, pattern, 16);
  const int64_t head = std::min(ToLine(out), bytes);
  std::memcpy(out, repeated, head);
  const auto* from = reinterpret_cast<const uint8_t*>(repeated + (head & 15));
  auto* to = reinterpret_cast<uint8_t*>(out);
  const auto v = hn::LoadU(d, from);
  int64_t i = head;
  if (stream) {
    for (; i + 64 <= bytes; i += 64)
      for (int64_t k = 0; k < 64; k += lanes) hn::Stream(v, d, to + i + k);
  } else {
    for (; i + 64 <= bytes; i += 64)
      for (int64_t k = 0; k < 64; k += lanes) hn::Store(v, d, to + i + k);
  }
  std::memcpy(out + i, from, bytes - i);
}

template <class T>
void Elements(std::byte* out, int64_t out_stride, const std::byte* in, int64_t in_stride,
              int64_t row_begin, int64_t rows, int64_t col_begin, int64_t cols) {
  for (int64_t c = col_begin; c < cols; ++c)
    for (int64_t r = row_begin; r < rows; ++r)
      std::memcpy(out + c * out_stride + r * sizeof(T), in + r * in_stride + c * sizeof(T),
                  sizeof(T));
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
void Transpose(std::byte* out, int64_t out_stride, const std::byte* in, int64_t in_stride,
               int64_t rows, int64_t cols) {
  Elements<T>(out, out_stride, in, in_stride, 0, rows, 0, cols);
}
#else
// Loads 16 bytes each of the rows 0, step, 2 * step, ... into the blocks of a vector.
template <class D>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const std::byte* in, int64_t step) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(d) * sizeof(T) <= 16) {
    return hn::LoadU(d, reinterpret_cast<const T*>(in));
  } else {
    const hn::Half<D> half;
    constexpr int64_t kHalfBlocks = hn::MaxLanes(half) * sizeof(T) / 16;
    return hn::Combine(d, LoadBlocks(half, in + kHalfBlocks * step, step),
                       LoadBlocks(half, in, step));
  }
}

// Returns element I of the first half of `a` interleaved with the second half.
template <size_t I, class D, size_t L>
HWY_INLINE hn::Vec<D> Interleaved(D d, const hn::Vec<D> (&a)[L]) {
  if constexpr (I % 2 == 0)
    return hn::InterleaveLower(d, a[I / 2], a[I / 2 + L / 2]);
  else
    return hn::InterleaveUpper(d, a[I / 2], a[I / 2 + L / 2]);
}

// Interleaves log2(L / kDone) times, then stores vector i at out + i * stride.
template <size_t kDone, class D, size_t L, size_t... I>
HWY_INLINE void InterleaveAndStore(D d, std::byte* out, int64_t stride, const hn::Vec<D> (&a)[L],
                                   std::index_sequence<I...> all) {
  if constexpr (kDone == L) {
    (hn::StoreU(a[I], d, reinterpret_cast<hn::TFromD<D>*>(out + I * stride)), ...);
  } else {
    const hn::Vec<D> b[L] = {Interleaved<I>(d, a)...};
    InterleaveAndStore<kDone * 2>(d, out, stride, b, all);
  }
}

// Transposes Lanes(d) rows of 16 bytes. Rows that share a vector are L apart, so that after log2(L)
// rounds of interleaving within blocks each vector is a piece of one output row. Uses index
// sequences instead of loops: GCC keeps arrays in registers only if it has nothing to unroll.
template <class D, size_t... I>
HWY_INLINE void Tile(D d, std::byte* out, int64_t out_stride, const std::byte* in,
                     int64_t in_stride, std::index_sequence<I...> all) {
  constexpr int64_t L = sizeof...(I);
  const hn::Vec<D> rows[L] = {LoadBlocks(d, in + I * in_stride, L * in_stride)...};
  InterleaveAndStore<1>(d, out, out_stride, rows, all);
}

// Transposes whole tiles of rows [begin, rows); returns the first row that is not done.
template <class D>
int64_t TileRows(D d, std::byte* out, int64_t out_stride, const std::byte* in, int64_t in_stride,
                 int64_t begin, int64_t rows, int64_t cols) {
  using T = hn::TFromD<D>;
  constexpr int64_t kRows = hn::MaxLanes(d), kCols = 16 / sizeof(T);
  int64_t r = begin;
  for (; r + kRows <= rows; r += kRows) {
    const auto tile = [&](int64_t c) HWY_ATTR {
      Tile(d, out + c * out_stride + r * sizeof(T), out_stride, in + r * in_stride + c * sizeof(T),
           in_stride, std::make_index_sequence<kCols>());
    };
    int64_t c = 0;
    for (; c + kCols <= cols; c += kCols) tile(c);
    // The last tile repeats some columns of the tile before it.
    if (c < cols && cols >= kCols)
      tile(cols - kCols);
    else
      Elements<T>(out, out_stride, in, in_stride, r, r + kRows, c, cols);
  }
  return r;
}

// Splits rows of two or three columns without gaps; returns the first row that is not done.
template <class T>
int64_t Deinterleave(std::byte* out, int64_t out_stride, const std::byte* in, int64_t rows,
                     int64_t cols) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* from = reinterpret_cast<const T*>(in);
  T* to[3];
  for (int64_t c = 0; c < cols; ++c) to[c] = reinterpret_cast<T*>(out + c * out_stride);
  hn::Vec<decltype(d)> a, b, c;
  int64_t r = 0;
  for (; r + lanes <= rows; r += lanes) {
    if (cols == 2) {
      hn::LoadInterleaved2(d, from + 2 * r, a, b);
    } else {
      hn::LoadInterleaved3(d, from + 3 * r, a, b, c);
      hn::StoreU(c, d, to[2] + r);
    }
    hn::StoreU(a, d, to[0] + r);
    hn::StoreU(b, d, to[1] + r);
  }
  return r;
}
// The inverse: joins two or three rows to columns without gaps; returns the first column that is
// not done.
template <class T>
int64_t Interleave(std::byte* out, const std::byte* in, int64_t in_stride, int64_t rows,
                   int64_t cols) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  T* to = reinterpret_cast<T*>(out);
  const auto at = [&](int64_t r, int64_t c) HWY_ATTR {
    return hn::LoadU(d, reinterpret_cast<const T*>(in + r * in_stride) + c);
  };
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) {
    if (rows == 2)
      hn::StoreInterleaved2(at(0, c), at(1, c), d, to + 2 * c);
    else
      hn::StoreInterleaved3(at(0, c), at(1, c), at(2, c), d, to + 3 * c);
  }
  return c;
}

// Uses vectors of 32 bytes: with 64 bytes the rows of a tile would need more than the 12 ways of an
// L1 set if the input's stride is a multiple of 4 KiB.
template <class T>
void Transpose(std::byte* out, int64_t out_stride, const std::byte* in, int64_t in_stride,
               int64_t rows, int64_t cols) {
  constexpr int64_t kSize = sizeof(T), kLeast = 16 / kSize;
  if ((cols == 2 || cols == 3) && in_stride == cols * kSize) {
    const int64_t done = Deinterleave<T>(out, out_stride, in, rows, cols);
    return Elements<T>(out, out_stride, in, in_stride, done, rows, 0, cols);
  }
  if ((rows == 2 || rows == 3) && out_stride == rows * kSize) {
    const int64_t done = Interleave<T>(out, in, in_stride, rows, cols);
    return Elements<T>(out, out_stride, in, in_stride, 0, rows, done, cols);
  }
  const hn::CappedTag<T, 32 / kSize> wide;
  const hn::CappedTag<T, kLeast> narrow;
  int64_t r = TileRows(wide, out, out_stride, in, in_stride, 0, rows, cols);
  r = TileRows(narrow, out, out_stride, in, in_stride, r, rows, cols);
  if (r == rows) return;
  // The last tile repeats some of the rows before it.
  if (rows >= kLeast && cols >= kLeast)
    TileRows(narrow, out, out_stride, in, in_stride, rows - kLeast, rows, cols);
  else
    Elements<T>(out, out_stride, in, in_stride, r, rows, 0, cols);
}
#endif

void TransposePairs(std::byte* out, int64_t out_stride, const std::byte* in, int64_t in_stride,
                    int64_t rows, int64_t cols) {
  Elements<hwy::uint128_t>(out, out_stride, in, in_stride, 0, rows, 0, cols);
}

CopySimd Functions() {
  return {StreamCopy,
          Fill,
          {Transpose<uint8_t>, Transpose<uint16_t>, Transpose<uint32_t>, Transpose<uint64_t>,
           TransposePairs}};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(Functions);

const CopySimd& Simd() {
  static const CopySimd functions = HWY_DYNAMIC_DISPATCH(Functions)();
  return functions;
}

void StreamFence() { hwy::FlushStream(); }

}  // namespace tessera::kernels
#endif

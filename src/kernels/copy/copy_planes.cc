// The inner loops over one plane of a copy: strided items, and transpositions in
// cache-sized blocks.
#include "kernels/copy/copy_planes.h"

#include <cstdlib>

namespace tessera::kernels {
namespace {

struct Item16 {
  uint64_t words[2];
};

template <class T>
T Load(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

template <class T>
void Store(std::byte* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}

template <class T>
void Strided(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
             int64_t cols) {
  const CopyPlan::Dim row = plan.dims[plan.dims.size() - 2], col = plan.dims.back();
  for (int64_t r = 0; r < rows; ++r, in += row.in, out += row.out) {
    if (col.out == sizeof(T) && col.in == -static_cast<int64_t>(sizeof(T))) {
      for (int64_t c = 0; c < cols; ++c) Store<T>(out + c * sizeof(T), Load<T>(in - c * sizeof(T)));
    } else {
      for (int64_t c = 0; c < cols; ++c) Store<T>(out + c * col.out, Load<T>(in + c * col.in));
    }
  }
}

template <class T>
void FillShortRows(const CopyPlan::Dim& row, const std::byte* in, std::byte* out, int64_t rows,
                   int64_t cols) {
  for (int64_t r = 0; r < rows; ++r) {
    const T v = Load<T>(in + r * row.in);
    for (int64_t c = 0; c < cols; ++c) Store<T>(out + r * row.out + c * sizeof(T), v);
  }
}

// Fetches the columns of the next block into L2, a few at a time between stores. Only used if the
// columns are pages apart: otherwise the hardware prefetches better.
class Prefetcher {
 public:
  Prefetcher(const std::byte* in, int64_t stride, int64_t cols, int64_t bytes)
      : in_(in), stride_(stride), left_(std::abs(stride) < 4096 ? 0 : cols), bytes_(bytes) {}
  void Step(int64_t cols) {
    for (; cols > 0 && left_ > 0; --cols, --left_, in_ += stride_)
      for (int64_t b = 0; b < bytes_; b += 64) __builtin_prefetch(in_ + b, 0, 2);
  }

 private:
  const std::byte* in_;
  int64_t stride_, left_, bytes_;
};

}  // namespace

CopyPlan::PlaneFn StridedPlane(int64_t item) {
  switch (item) {
    case 1:
      return Strided<uint8_t>;
    case 2:
      return Strided<uint16_t>;
    case 4:
      return Strided<uint32_t>;
    case 8:
      return Strided<uint64_t>;
    default:
      return Strided<Item16>;
  }
}

void CopyRows(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
              int64_t cols) {
  const CopyPlan::Dim& row = plan.dims[plan.dims.size() - 2];
  const int64_t bytes = cols * plan.item;
  if (plan.stream) {
    for (int64_t r = 0; r < rows; ++r)
      Simd().stream_copy(out + r * row.out, in + r * row.in, bytes);
  } else if (bytes <= 64) {
    for (int64_t r = 0; r < rows; ++r) CopyBytes(out + r * row.out, in + r * row.in, bytes);
  } else {
    for (int64_t r = 0; r < rows; ++r) std::memcpy(out + r * row.out, in + r * row.in, bytes);
  }
}

void RepeatRow(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
               int64_t cols) {
  const int64_t row = cols * plan.item, total = rows * row;
  // With only part of the columns, the rows of the output are not adjacent.
  if (row != plan.dims[plan.dims.size() - 2].out) return CopyRows(plan, in, out, rows, cols);
  // Repeats the row by doubling up to a block that stays in L1, then copies the block.
  constexpr int64_t kBlock = 4096;
  const int64_t block = std::min(total, std::max<int64_t>(1, kBlock / row) * row);
  if (total == 0) return;
  CopyBytes(out, in, row);
  for (int64_t have = row; have < block;) {
    const int64_t n = std::min(have, block - have);
    CopyBytes(out + have, out, n);
    have += n;
  }
  for (int64_t have = block; have < total; have += block) {
    const int64_t n = std::min(block, total - have);
    if (plan.stream)
      Simd().stream_copy(out + have, out, n);
    else
      std::memcpy(out + have, out, n);
  }
}

void FillRows(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
              int64_t cols) {
  const CopyPlan::Dim& row = plan.dims[plan.dims.size() - 2];
  const int64_t bytes = cols * plan.item;
  if (bytes >= 64) {
    for (int64_t r = 0; r < rows; ++r)
      FillBytes(out + r * row.out, bytes, Pattern(in + r * row.in, plan.item), plan.stream);
    return;
  }
  switch (plan.item) {
    case 1:
      return FillShortRows<uint8_t>(row, in, out, rows, cols);
    case 2:
      return FillShortRows<uint16_t>(row, in, out, rows, cols);
    case 4:
      return FillShortRows<uint32_t>(row, in, out, rows, cols);
    case 8:
      return FillShortRows<uint64_t>(row, in, out, rows, cols);
    default:
      return FillShortRows<Item16>(row, in, out, rows, cols);
  }
}

void TransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                    int64_t cols) {
  const CopyPlan::Dim &row = plan.dims[plan.dims.size() - 2], &col = plan.dims.back();
  // Tiles write pieces of lines. If output rows are multiples of 1 KiB apart, they fall on few sets
  // of L1, so the tiles are collected in a buffer first.
  const bool direct = rows <= 8 || row.out % 1024 != 0;
  constexpr int64_t kBlock = 64;
  for (int64_t r = 0; direct && r < rows; r += kBlock)
    for (int64_t c = 0; c < cols; c += kBlock)
      plan.transpose(out + r * row.out + c * col.out, row.out, in + r * row.in + c * col.in, col.in,
                     std::min(kBlock, cols - c), std::min(kBlock, rows - r));
  if (direct) return;
  const int64_t block_cols = kBlockBytes / plan.item;
  alignas(64) std::byte block[kBlockRows * kBlockPitch];
  for (int64_t r = 0; r < rows; r += kBlockRows) {
    const int64_t nr = std::min(kBlockRows, rows - r);
    for (int64_t c = 0; c < cols; c += block_cols) {
      const int64_t nc = std::min(block_cols, cols - c);
      plan.transpose(block, kBlockPitch, in + r * row.in + c * col.in, col.in, nc, nr);
      std::byte* to = out + r * row.out + c * col.out;
      for (int64_t k = 0; k < nr; ++k)
        CopyBytes(to + k * row.out, block + k * kBlockPitch, nc * plan.item);
    }
  }
}

void StreamTransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                          int64_t cols) {
  const CopyPlan::Dim &row = plan.dims[plan.dims.size() - 2], &col = plan.dims.back();
  const int64_t item = plan.item, block_cols = kBlockBytes / item, line = 64 / item;
  alignas(64) std::byte block[kBlockRows * kBlockPitch];
  // Writes only whole lines of the output, except at the ends of its rows. The alignment of rows
  // differs, so blocks overlap by a line, and the piece of a row in a block is cut at lines.
  const auto cut = [&](const std::byte* row_begin, int64_t c) {
    if (c == 0 || c == cols) return c;
    return c - static_cast<int64_t>(reinterpret_cast<uintptr_t>(row_begin + c * item) & 63) / item;
  };
  for (int64_t r = 0; r < rows; r += kBlockRows) {
    const int64_t nr = std::min(kBlockRows, rows - r);
    for (int64_t c = 0; c < cols; c += block_cols) {
      const int64_t begin = std::max<int64_t>(0, c - line), end = std::min(cols, c + block_cols);
      const std::byte* from = in + r * row.in;
      plan.transpose(block, kBlockPitch, from + begin * col.in, col.in, end - begin, nr);
      Prefetcher next(from + end * col.in, col.in, std::min(cols - end, block_cols), nr * item);
      for (int64_t k = 0; k < nr; ++k) {
        std::byte* to = out + (r + k) * row.out;
        const int64_t first = cut(to, c), last = cut(to, end);
        Simd().stream_copy(to + first * item, block + k * kBlockPitch + (first - begin) * item,
                           (last - first) * item);
        next.Step(block_cols / kBlockRows);
      }
    }
  }
}

}  // namespace tessera::kernels

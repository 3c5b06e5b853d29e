#include "kernels/copy_planes.h"

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
      for (int64_t c = 0; c < cols; ++c)
        Store<T>(out + c * sizeof(T), Load<T>(in - c * sizeof(T)));
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

}  // namespace

CopyPlan::PlaneFn StridedPlane(int64_t item) {
  switch (item) {
    case 1: return Strided<uint8_t>;
    case 2: return Strided<uint16_t>;
    case 4: return Strided<uint32_t>;
    case 8: return Strided<uint64_t>;
    default: return Strided<Item16>;
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
  // Repeated by doubling up to a block that stays in L1, then block by block.
  constexpr int64_t kBlock = 4096;
  const int64_t row = cols * plan.item, total = rows * row;
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
    if (plan.stream) Simd().stream_copy(out + have, out, n);
    else std::memcpy(out + have, out, n);
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
    case 1: return FillShortRows<uint8_t>(row, in, out, rows, cols);
    case 2: return FillShortRows<uint16_t>(row, in, out, rows, cols);
    case 4: return FillShortRows<uint32_t>(row, in, out, rows, cols);
    case 8: return FillShortRows<uint64_t>(row, in, out, rows, cols);
    default: return FillShortRows<Item16>(row, in, out, rows, cols);
  }
}

void TransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                    int64_t cols) {
  const CopyPlan::Dim &row = plan.dims[plan.dims.size() - 2], &col = plan.dims.back();
  constexpr int64_t kBlock = 64;  // rows and columns: lines of both sides stay in L1
  for (int64_t r = 0; r < rows; r += kBlock)
    for (int64_t c = 0; c < cols; c += kBlock)
      plan.transpose(out + r * row.out + c * col.out, row.out, in + r * row.in + c * col.in,
                     col.in, std::min(kBlock, cols - c), std::min(kBlock, rows - r));
}

void StreamTransposePlane(const CopyPlan& plan, const std::byte* in, std::byte* out, int64_t rows,
                          int64_t cols) {
  const CopyPlan::Dim &row = plan.dims[plan.dims.size() - 2], &col = plan.dims.back();
  alignas(64) std::byte block[kBlockRows * kBlockBytes];
  const int64_t block_cols = kBlockBytes / plan.item;
  // Blocks begin at whole lines of the output, as far as its rows do.
  const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(out) & 63) / plan.item;
  for (int64_t r = 0; r < rows; r += kBlockRows) {
    const int64_t nr = std::min(kBlockRows, rows - r);
    for (int64_t c = 0; c < cols;) {
      const int64_t nc = std::min(c == 0 && head > 0 ? head : block_cols, cols - c);
      plan.transpose(block, kBlockBytes, in + r * row.in + c * col.in, col.in, nc, nr);
      for (int64_t k = 0; k < nr; ++k)
        Simd().stream_copy(out + (r + k) * row.out + c * col.out, block + k * kBlockBytes,
                           nc * plan.item);
      c += nc;
    }
  }
}

}  // namespace tessera::kernels

// Tiles of sums in registers over packed panels of b, which stay in L1, as in K. Goto and R. van de
// Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008. An element is the sum over
// blocks of k, and a block is a chain of multiply-adds, whatever tile the element is in. Compiled
// once per instruction set.
#include "kernels/gemm/packed_gemm.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/packed_gemm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile has this many rows and two vectors of columns, which fit the registers of AVX2.
constexpr int64_t kTileRows = 6;
constexpr int64_t kDepth = 256;  // steps of k in a block
template <class T>
using LaneTag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kTileColumns = 2 * static_cast<int64_t>(hn::MaxLanes(LaneTag<T>()));

// The operands of a tile: rows of a, and `depth` steps with kTileColumns numbers of b each.
template <class T>
struct Panels {
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t depth;
  bool adds;  // adds to the values in c
};

template <class T>
HWY_INLINE void Put(const Panels<T>& p, hn::Vec<LaneTag<T>> sum, T* c) {
  const LaneTag<T> d;
  hn::StoreU(p.adds ? hn::Add(sum, hn::LoadU(d, c)) : sum, d, c);
}
// Integers wrap; floats are rounded once.
template <class T, class V>
HWY_INLINE V AddProduct(V x, V y, V sum) {
  if constexpr (std::is_floating_point_v<T>)
    return hn::MulAdd(x, y, sum);
  else
    return hn::Add(sum, hn::Mul(x, y));
}
// The indices are constants; otherwise the sums would be kept in memory.
template <class T, size_t... r>
void Tile(const Panels<T>& p, T* c, int64_t row, std::index_sequence<r...>) {
  const LaneTag<T> d;
  using V = hn::Vec<LaneTag<T>>;
  const size_t lanes = hn::Lanes(d);
  V left[] = {(static_cast<void>(r), hn::Zero(d))...}, right[] = {(left[r])...};
  for (int64_t k = 0; k < p.depth; ++k) {
    const T *a = p.a + k * p.a_col, *b = p.b + k * kTileColumns<T>;
    const V b_left = hn::Load(d, b), b_right = hn::Load(d, b + lanes);
    V x;
    ((x = hn::Set(d, a[int64_t{r} * p.a_row]), left[r] = AddProduct<T>(x, b_left, left[r]),
      right[r] = AddProduct<T>(x, b_right, right[r])),
     ...);
  }
  ((Put(p, left[r], c + int64_t{r} * row), Put(p, right[r], c + int64_t{r} * row + lanes)), ...);
}
template <class T, size_t kRows>
void TileOf(const Panels<T>& p, T* c, int64_t row) {
  Tile(p, c, row, std::make_index_sequence<kRows>());
}
template <class T, size_t... r>
void TileOfRows(const Panels<T>& p, int64_t rows, T* c, int64_t row, std::index_sequence<r...>) {
  static constexpr void (*kTiles[])(const Panels<T>&, T*, int64_t) = {TileOf<T, r + 1>...};
  kTiles[rows - 1](p, c, row);
}

// Writes the first `columns` columns of a tile. If that is fewer than a tile has, they go through
// a buffer.
template <class T>
void PutTile(const Panels<T>& p, int64_t rows, int64_t columns, T* c, int64_t row) {
  constexpr std::make_index_sequence<kTileRows> kAll;
  if (columns == kTileColumns<T>) return TileOfRows(p, rows, c, row, kAll);
  HWY_ALIGN T aside[kTileRows * kTileColumns<T>];
  TileOfRows(Panels<T>{p.a, p.a_row, p.a_col, p.b, p.depth, false}, rows, aside, kTileColumns<T>,
             kAll);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      T& to = c[i * row + j];
      const T sum = aside[i * kTileColumns<T> + j];
      to = p.adds ? sum + to : sum;  // -0 stays
    }
}

// Packs columns of b, and zeros where a tile has more of them.
template <class T>
void Pack(const GemmDesc& d, const T* b, int64_t depth, int64_t columns, T* to) {
  for (int64_t k = 0; k < depth; ++k, b += d.b_row, to += kTileColumns<T>) {
    if (d.b_col == 1)
      std::copy(b, b + columns, to);
    else
      for (int64_t j = 0; j < columns; ++j) to[j] = b[j * d.b_col];
    std::fill(to + columns, to + kTileColumns<T>, T{0});
  }
}

template <class T>
void Product(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  HWY_ALIGN T panel[kDepth * kTileColumns<T>];
  for (int64_t k = 0; k < d.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, d.k - k);
    for (int64_t j = 0; j < n; j += kTileColumns<T>) {
      const int64_t columns = std::min(kTileColumns<T>, n - j);
      Pack(d, b + k * d.b_row + j * d.b_col, depth, columns, panel);
      for (int64_t i = 0; i < m; i += kTileRows)
        PutTile(Panels<T>{a + i * d.a_row + k * d.a_col, d.a_row, d.a_col, panel, depth, k > 0},
                std::min(kTileRows, m - i), columns, c + i * d.c_row + j, d.c_row);
    }
  }
}

void OfFloats(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b, float* c) {
  Product(d, m, n, a, b, c);
}
void OfDoubles(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b,
               double* c) {
  Product(d, m, n, a, b, c);
}
void Of32(const GemmDesc& d, int64_t m, int64_t n, const uint32_t* a, const uint32_t* b,
          uint32_t* c) {
  Product(d, m, n, a, b, c);
}
void Of64(const GemmDesc& d, int64_t m, int64_t n, const uint64_t* a, const uint64_t* b,
          uint64_t* c) {
  Product(d, m, n, a, b, c);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(OfFloats);
HWY_EXPORT(OfDoubles);
HWY_EXPORT(Of32);
HWY_EXPORT(Of64);

void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const float* a, const float* b,
                float* c) {
  HWY_DYNAMIC_DISPATCH(OfFloats)(desc, m, n, a, b, c);
}
void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const double* a, const double* b,
                double* c) {
  HWY_DYNAMIC_DISPATCH(OfDoubles)(desc, m, n, a, b, c);
}
void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const uint32_t* a, const uint32_t* b,
                uint32_t* c) {
  HWY_DYNAMIC_DISPATCH(Of32)(desc, m, n, a, b, c);
}
void PackedGemm(const GemmDesc& desc, int64_t m, int64_t n, const uint64_t* a, const uint64_t* b,
                uint64_t* c) {
  HWY_DYNAMIC_DISPATCH(Of64)(desc, m, n, a, b, c);
}

}  // namespace tessera::kernels
#endif

// Tiles of sums in registers over packed panels, compiled once per instruction set. A block of rows
// of a stays in L2 and a panel of columns of b in L1, as in K. Goto and R. van de Geijn, "Anatomy
// of High-Performance Matrix Multiplication", 2008.
#include "kernels/gemm/integer_gemm.h"

#include <algorithm>
#include <utility>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/integer_gemm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile has this many rows and two vectors of columns, which fit the registers of AVX2.
constexpr int64_t kTileRows = 6;
constexpr int64_t kBlockRows = 8 * kTileRows, kDepth = 256;
template <class T>
using LaneTag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kTileColumns = 2 * static_cast<int64_t>(hn::MaxLanes(LaneTag<T>()));

// The panels of a tile: `depth` steps with kTileRows numbers of a and kTileColumns numbers of
// b each.
template <class T>
struct Panels {
  const T *a, *b;
  int64_t depth;
  bool adds;  // adds to the values in c
};

template <class T>
HWY_INLINE void Put(const Panels<T>& p, hn::Vec<LaneTag<T>> sum, T* c) {
  const LaneTag<T> d;
  hn::StoreU(p.adds ? hn::Add(sum, hn::LoadU(d, c)) : sum, d, c);
}
// The indices are constants; otherwise the sums would be kept in memory.
template <class T, size_t... r>
void Tile(const Panels<T>& p, T* c, int64_t row, std::index_sequence<r...>) {
  const LaneTag<T> d;
  using V = hn::Vec<LaneTag<T>>;
  const size_t lanes = hn::Lanes(d);
  V left[] = {(static_cast<void>(r), hn::Zero(d))...}, right[] = {(left[r])...};
  for (int64_t k = 0; k < p.depth; ++k) {
    const T *a = p.a + k * kTileRows, *b = p.b + k * kTileColumns<T>;
    const V b_left = hn::Load(d, b), b_right = hn::Load(d, b + lanes);
    V x;
    ((x = hn::Set(d, a[r]), left[r] = hn::Add(left[r], hn::Mul(x, b_left)),
      right[r] = hn::Add(right[r], hn::Mul(x, b_right))),
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
  TileOfRows(Panels<T>{p.a, p.b, p.depth, false}, rows, aside, kTileColumns<T>, kAll);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      T& to = c[i * row + j];
      to = aside[i * kTileColumns<T> + j] + (p.adds ? to : T{0});
    }
}

// Packs lines of a panel `width` apart: their first `count` numbers, then zeros.
template <class T>
void Pack(const T* from, int64_t line, int64_t step, int64_t lines, int64_t count, int64_t width,
          T* to) {
  for (int64_t k = 0; k < lines; ++k, from += line, to += width) {
    if (step == 1)
      std::copy(from, from + count, to);
    else
      for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
    std::fill(to + count, to + width, T{0});
  }
}

template <class T>
void Product(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  HWY_ALIGN T a_block[kBlockRows * kDepth];
  HWY_ALIGN T b_panel[kDepth * kTileColumns<T>];
  for (int64_t k = 0; k < d.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, d.k - k);
    for (int64_t i = 0; i < m; i += kBlockRows) {
      const int64_t end = std::min(m, i + kBlockRows);
      const auto panel_of = [&](int64_t row) { return a_block + (row - i) * depth; };
      for (int64_t row = i; row < end; row += kTileRows)
        Pack(a + row * d.a_row + k * d.a_col, d.a_col, d.a_row, depth,
             std::min(kTileRows, end - row), kTileRows, panel_of(row));
      for (int64_t j = 0; j < n; j += kTileColumns<T>) {
        const int64_t columns = std::min(kTileColumns<T>, n - j);
        Pack(b + k * d.b_row + j * d.b_col, d.b_row, d.b_col, depth, columns, kTileColumns<T>,
             b_panel);
        for (int64_t row = i; row < end; row += kTileRows)
          PutTile(Panels<T>{panel_of(row), b_panel, depth, k > 0}, std::min(kTileRows, end - row),
                  columns, c + row * d.c_row + j, d.c_row);
      }
    }
  }
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

HWY_EXPORT(Of32);
HWY_EXPORT(Of64);

void IntegerGemm(const GemmDesc& desc, int64_t m, int64_t n, const uint32_t* a, const uint32_t* b,
                 uint32_t* c) {
  HWY_DYNAMIC_DISPATCH(Of32)(desc, m, n, a, b, c);
}
void IntegerGemm(const GemmDesc& desc, int64_t m, int64_t n, const uint64_t* a, const uint64_t* b,
                 uint64_t* c) {
  HWY_DYNAMIC_DISPATCH(Of64)(desc, m, n, a, b, c);
}

}  // namespace tessera::kernels
#endif

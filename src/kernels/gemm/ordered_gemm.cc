// Every element is a chain of multiply-adds over k, in blocks. Tiles of rows and columns load
// operands once; lanes without a column compute on zeros. Compiled once per instruction set.
#include "kernels/gemm/ordered_gemm.h"

#include <algorithm>
#include <utility>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/ordered_gemm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Terms that are first added up by themselves, so that the error of a long sum grows only with the
// number of such blocks.
constexpr int64_t kBlock = 256;
// The sums of a tile, two vectors for each row, stay in the registers of AVX2.
constexpr size_t kRows = 6;

// A block of k of two vectors of columns of b, and the rows of a and c.
template <class T>
struct OrderedTile {
  const T* a;
  int64_t a_row, a_col;
  const T* panel;  // [terms, two vectors]
  int64_t terms;
  T* c;
  int64_t c_row;
  int64_t columns;  // of c, at most two vectors
  bool is_first;    // c has no sums yet
};

template <class T, class V>
HWY_INLINE void Add(const OrderedTile<T>& t, V low, V high, T* c) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (HWY_LIKELY(t.columns == 2 * lanes)) {
    if (!t.is_first)
      low = hn::Add(hn::LoadU(d, c), low), high = hn::Add(hn::LoadU(d, c + lanes), high);
    hn::StoreU(low, d, c), hn::StoreU(high, d, c + lanes);
    return;
  }
  HWY_ALIGN T sums[2 * hn::MaxLanes(d)];
  hn::Store(low, d, sums), hn::Store(high, d, sums + lanes);
  for (int64_t j = 0; j < t.columns; ++j) c[j] = t.is_first ? sums[j] : c[j] + sums[j];
}

// The indices are constants; otherwise the sums would be kept in memory.
template <class T, size_t... r>
void Rows(const OrderedTile<T>& t, std::index_sequence<r...>) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V low[] = {(static_cast<void>(r), hn::Zero(d))...};
  V high[] = {(static_cast<void>(r), hn::Zero(d))...};
  for (int64_t k = 0; k < t.terms; ++k) {
    const T* a = t.a + k * t.a_col;
    const V first = hn::Load(d, t.panel + 2 * k * lanes);
    const V second = hn::Load(d, t.panel + (2 * k + 1) * lanes);
    ((low[r] = hn::MulAdd(hn::Set(d, a[int64_t{r} * t.a_row]), first, low[r])), ...);
    ((high[r] = hn::MulAdd(hn::Set(d, a[int64_t{r} * t.a_row]), second, high[r])), ...);
  }
  (Add(t, low[r], high[r], t.c + int64_t{r} * t.c_row), ...);
}

template <class T, size_t... r>
void RowsOf(const OrderedTile<T>& t, size_t rows, std::index_sequence<r...>) {
  ((rows == r + 1 ? Rows(t, std::make_index_sequence<r + 1>()) : void()), ...);
}

// Copies columns of b, and zeros where there are fewer than two vectors of them.
template <class T>
void Pack(const GemmDesc& d, const T* b, int64_t terms, int64_t columns, int64_t width, T* panel) {
  for (int64_t k = 0; k < terms; ++k, panel += width) {
    for (int64_t j = 0; j < columns; ++j) panel[j] = b[k * d.b_row + j * d.b_col];
    std::fill(panel + columns, panel + width, T{0});
  }
}

template <class T>
void Product(const GemmDesc& d, int64_t m, int64_t n, const T* a, const T* b, T* c) {
  const auto width = 2 * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  HWY_ALIGN T panel[2 * kBlock * kLanes];
  for (int64_t k = 0; k < d.k; k += kBlock) {
    const int64_t terms = std::min(kBlock, d.k - k);
    for (int64_t j = 0; j < n; j += width) {
      const int64_t columns = std::min(width, n - j);
      Pack(d, b + k * d.b_row + j * d.b_col, terms, columns, width, panel);
      for (int64_t i = 0; i < m; i += int64_t{kRows}) {
        const auto rows = static_cast<size_t>(std::min(int64_t{kRows}, m - i));
        RowsOf(OrderedTile<T>{a + i * d.a_row + k * d.a_col, d.a_row, d.a_col, panel, terms,
                              c + i * d.c_row + j, d.c_row, columns, k == 0},
               rows, std::make_index_sequence<kRows>());
      }
    }
  }
}

void ProductOfFloats(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b,
                     float* c) {
  Product(d, m, n, a, b, c);
}
void ProductOfDoubles(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b,
                      double* c) {
  Product(d, m, n, a, b, c);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(ProductOfFloats);
HWY_EXPORT(ProductOfDoubles);

void OrderedGemm(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b,
                 float* c) {
  HWY_DYNAMIC_DISPATCH(ProductOfFloats)(d, m, n, a, b, c);
}
void OrderedGemm(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b,
                 double* c) {
  HWY_DYNAMIC_DISPATCH(ProductOfDoubles)(d, m, n, a, b, c);
}

}  // namespace tessera::kernels
#endif

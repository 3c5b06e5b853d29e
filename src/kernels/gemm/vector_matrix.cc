// Adds up the rows of the matrix times the vector's numbers in registers. Compiled once per
// instruction set.
#include "kernels/gemm/vector_matrix.h"

#include <algorithm>
#include <utility>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/vector_matrix.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows that are first added up by themselves, so that the error of a long sum grows only with the
// number of such blocks.
constexpr int64_t kRows = 256;

// Vectors of columns that are added up at once: half of the registers of AVX2.
constexpr size_t kMostVectors = 8;

// Computes the columns from `first` on, one vector of them for each k; the last vector ends with
// the last column. The indices are constants; otherwise the sums would be kept in memory.
template <class T, size_t... k>
void Panel(const VectorTimesMatrix<T>& p, int64_t first, std::index_sequence<k...>) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr size_t kLast = sizeof...(k) - 1;
  const int64_t lanes = hn::Lanes(d), last = std::min(first + int64_t{kLast} * lanes, p.n - lanes);
  const auto column = [&](size_t n) { return n < kLast ? first + int64_t(n) * lanes : last; };
  V total[] = {(static_cast<void>(k), hn::Zero(d))...};
  for (int64_t i = 0; i < p.k;) {
    V sum[] = {(static_cast<void>(k), hn::Zero(d))...};
    for (const int64_t end = std::min(p.k, i + kRows); i < end; ++i) {
      const T* row = p.matrix + i * p.row;
      const V x = hn::Set(d, p.x[i * p.x_stride]);
      ((sum[k] = hn::MulAdd(x, hn::LoadU(d, row + column(k)), sum[k])), ...);
    }
    ((total[k] = hn::Add(total[k], sum[k])), ...);
  }
  (hn::StoreU(total[k], d, p.out + column(k)), ...);
}

template <size_t kVectors, class T>
void PanelOf(const VectorTimesMatrix<T>& p, int64_t first) {
  Panel(p, first, std::make_index_sequence<kVectors>());
}
template <class T, size_t... k>
void Columns(const VectorTimesMatrix<T>& p, std::index_sequence<k...>) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  static constexpr void (*kPanels[])(const VectorTimesMatrix<T>&, int64_t) = {PanelOf<k + 1, T>...};
  for (int64_t first = 0; first < p.n;) {
    const int64_t vectors = std::min<int64_t>((p.n - first + lanes - 1) / lanes, sizeof...(k));
    kPanels[vectors - 1](p, first);
    first += vectors * lanes;
  }
}

void OfFloats(const VectorTimesMatrix<float>& p) {
  Columns(p, std::make_index_sequence<kMostVectors>());
}
void OfDoubles(const VectorTimesMatrix<double>& p) {
  Columns(p, std::make_index_sequence<kMostVectors>());
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(OfFloats);
HWY_EXPORT(OfDoubles);

void Multiply(const VectorTimesMatrix<float>& product) { HWY_DYNAMIC_DISPATCH(OfFloats)(product); }
void Multiply(const VectorTimesMatrix<double>& product) {
  HWY_DYNAMIC_DISPATCH(OfDoubles)(product);
}

}  // namespace tessera::kernels
#endif

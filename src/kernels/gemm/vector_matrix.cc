// Rows of the matrix times their numbers, added up in registers, compiled once per instruction set.
#include "kernels/gemm/vector_matrix.h"

#include <algorithm>

#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/vector_matrix.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows that are added up by themselves first: the error of a long sum then grows with the number of
// such blocks.
constexpr int64_t kRows = 256;

// The columns from `first` on, so many vectors of them; the last one ends with the last column.
template <int kVectors, class T>
void Panel(const VectorTimesMatrix<T>& p, int64_t first) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t at[kVectors];
  for (int v = 0; v < kVectors; ++v) at[v] = std::min(first + v * lanes, p.n - lanes);
  V total[kVectors];
  for (V& t : total) t = hn::Zero(d);
  for (int64_t i = 0; i < p.k;) {
    V sum[kVectors];
    for (V& s : sum) s = hn::Zero(d);
    for (const int64_t end = std::min(p.k, i + kRows); i < end; ++i) {
      const T* row = p.matrix + i * p.row;
      const V x = hn::Set(d, p.x[i * p.x_stride]);
      for (int v = 0; v < kVectors; ++v) sum[v] = hn::MulAdd(x, hn::LoadU(d, row + at[v]), sum[v]);
    }
    for (int v = 0; v < kVectors; ++v) total[v] = hn::Add(total[v], sum[v]);
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(total[v], d, p.out + at[v]);
}

template <class T>
void Columns(const VectorTimesMatrix<T>& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  static constexpr void (*kPanels[])(const VectorTimesMatrix<T>&, int64_t) = {
      Panel<1, T>, Panel<2, T>, Panel<3, T>, Panel<4, T>};
  for (int64_t first = 0; first < p.n;) {
    const int64_t vectors = std::min<int64_t>((p.n - first + lanes - 1) / lanes, 4);
    kPanels[vectors - 1](p, first);
    first += vectors * lanes;
  }
}

void OfFloats(const VectorTimesMatrix<float>& p) { Columns(p); }
void OfDoubles(const VectorTimesMatrix<double>& p) { Columns(p); }

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

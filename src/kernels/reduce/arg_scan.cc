// Searches for the largest or smallest element of each column. Compiled once per instruction set.
#include "kernels/reduce/arg_scan.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/dtype.h"
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/arg_scan.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The type that represents an element E in comparisons, in lanes of E's size.
template <class E>
struct Plain {
  using Key = E;
  template <class D, class V>
  static HWY_INLINE V Of(D, V v) {
    return v;
  }
};
// Floats whose infinity has these bits. Zeros of both signs compare equal, and so do all NaNs,
// which are beyond all numbers.
template <int16_t kInfinity, bool kLargest>
struct Ordered {
  using Key = int16_t;
  template <class D, class V>
  static HWY_INLINE V Of(D d, V v) {
    using Limits = std::numeric_limits<int16_t>;
    const V magnitude = hn::And(v, hn::Set(d, Limits::max()));
    const V key = hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Neg(magnitude), magnitude);
    return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, kInfinity)),
                          hn::Set(d, kLargest ? Limits::max() : Limits::min()), key);
  }
};

// Whether v beats `best`, which came earlier.
template <bool kLargest, class D, class V>
HWY_INLINE hn::Mask<D> Beats(D d, V v, V best) {
  const auto beyond = kLargest ? hn::Gt(v, best) : hn::Lt(v, best);
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    static_cast<void>(d);
    return hn::Or(beyond, hn::AndNot(hn::IsNaN(best), hn::IsNaN(v)));
  } else {
    return beyond;
  }
}
template <bool kLargest, class K>
HWY_INLINE bool BeatsScalar(K v, K best) {
  if constexpr (std::is_floating_point_v<K>) {
    if (v != v) return best == best;
  }
  return kLargest ? v > best : v < best;
}

// Rows searched before their numbers, held in lanes as small as i8, are moved to i64.
constexpr int64_t kRowsAtOnce = 64;

template <class Format, bool kLargest>
struct Search {
  using K = typename Format::Key;

  // Searches rows [begin, end), at most kRowsAtOnce, in the columns of kVectors vectors.
  template <size_t kVectors, class D>
  static HWY_INLINE void Rows(D d, const ArgColumns& c, int64_t begin, int64_t end, int64_t j) {
    const hn::RebindToSigned<D> di;
    using I = hn::TFromD<decltype(di)>;
    const auto L = static_cast<int64_t>(hn::Lanes(d));
    const K* in = reinterpret_cast<const K*>(c.in) + begin * c.stride + j;
    K* keys = reinterpret_cast<K*>(c.keys) + j;
    auto best0 = hn::LoadU(d, keys), best1 = best0;
    if (kVectors == 2) best1 = hn::LoadU(d, keys + L);
    auto at0 = hn::Set(di, I{-1}), at1 = at0, row = hn::Zero(di);
    for (int64_t r = begin; r < end; ++r, in += c.stride, row = hn::Add(row, hn::Set(di, I{1}))) {
      Step(d, hn::LoadU(d, in), row, best0, at0);
      if (kVectors == 2) Step(d, hn::LoadU(d, in + L), row, best1, at1);
    }
    HWY_ALIGN I at[2 * hn::MaxLanes(D())];
    hn::StoreU(best0, d, keys);
    hn::Store(at0, di, at);
    if (kVectors == 2) hn::StoreU(best1, d, keys + L), hn::StoreU(at1, di, at + L);
    for (int64_t k = 0; k < static_cast<int64_t>(kVectors) * L; ++k)
      c.at[j + k] = at[k] < 0 ? c.at[j + k] : begin + at[k];
  }
  template <class D, class V, class VI>
  static HWY_INLINE void Step(D d, V element, VI row, V& best, VI& at) {
    const V v = Format::Of(d, element);
    const auto beats = Beats<kLargest>(d, v, best);
    best = hn::IfThenElse(beats, v, best);
    at = hn::IfThenElse(hn::RebindMask(hn::RebindToSigned<D>(), beats), row, at);
  }

  static void First(const ArgColumns& c) {
    const hn::ScalableTag<K> d;
    const hn::CappedTag<K, 1> one;
    const K* in = reinterpret_cast<const K*>(c.in);
    K* keys = reinterpret_cast<K*>(c.keys);
    const auto L = static_cast<int64_t>(hn::Lanes(d));
    int64_t j = 0;
    for (; j + L <= c.columns; j += L) hn::StoreU(Format::Of(d, hn::LoadU(d, in + j)), d, keys + j);
    for (; j < c.columns; ++j) hn::StoreU(Format::Of(one, hn::LoadU(one, in + j)), one, keys + j);
    std::fill_n(c.at, c.columns, 0);
  }

  static void Scan(const ArgColumns& c, int64_t begin, int64_t end) {
    const hn::ScalableTag<K> d;
    const hn::CappedTag<K, 1> one;
    const auto L = static_cast<int64_t>(hn::Lanes(d));
    if (begin == 0) First(c), begin = 1;
    for (int64_t next; begin < end; begin = next) {
      next = std::min(end, begin + kRowsAtOnce);
      int64_t j = 0;
      for (; j + 2 * L <= c.columns; j += 2 * L) Rows<2>(d, c, begin, next, j);
      for (; j + L <= c.columns; j += L) Rows<1>(d, c, begin, next, j);
      for (; j < c.columns; ++j) Rows<1>(one, c, begin, next, j);
    }
  }

  static void Fold(const ArgColumns& c, int64_t sides, int64_t inner) {
    K* keys = reinterpret_cast<K*>(c.keys);
    for (int64_t j = 0; j < inner; ++j) {
      K best = keys[j];
      int64_t at = c.at[j] * sides;
      for (int64_t s = 1; s < sides; ++s) {
        const K v = keys[s * inner + j];
        const int64_t other = c.at[s * inner + j] * sides + s;
        const bool beats = BeatsScalar<kLargest>(v, best);
        if (!beats && (other > at || BeatsScalar<kLargest>(best, v))) continue;
        best = v, at = other;
      }
      keys[j] = best, c.at[j] = at;
    }
  }

  static constexpr ArgScan Functions() { return {Scan, Fold}; }
};

template <bool kLargest>
ArgScan FunctionsOf(DType dtype) {
  if (dtype == f16) return Search<Ordered<0x7c00, kLargest>, kLargest>::Functions();
  if (dtype == bf16) return Search<Ordered<0x7f80, kLargest>, kLargest>::Functions();
  ArgScan functions;
  base::VisitDType(dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, bool>)
      functions = Search<Plain<uint8_t>, kLargest>::Functions();
    else if constexpr (!std::is_class_v<T>)
      functions = Search<Plain<T>, kLargest>::Functions();
  });
  return functions;
}
ArgScan ScanOf(DType dtype, bool largest) {
  return largest ? FunctionsOf<true>(dtype) : FunctionsOf<false>(dtype);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(ScanOf);

ArgScan ArgScanOf(DType dtype, bool largest) {
  return HWY_DYNAMIC_DISPATCH(ScanOf)(dtype, largest);
}

}  // namespace tessera::kernels
#endif

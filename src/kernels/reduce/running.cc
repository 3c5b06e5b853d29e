// Running reductions in vectors. Compiled once per instruction set. Sums of floats are carried from
// one vector to the next in f64.
#include "kernels/reduce/running.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/dtype.h"
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/running.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Highway requires this order of includes: the targets first.
#include "kernels/elements/simd_arithmetic.h"
#include "kernels/elements/simd_rows.h"
#include "kernels/reduce/reduce_elements.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kMostColumns = 1024;

template <Reduction r>
struct OpOf;
template <>
struct OpOf<Reduction::kSum> : Add {};
template <>
struct OpOf<Reduction::kProd> : Mul {};
template <>
struct OpOf<Reduction::kMax> : Max {};
template <>
struct OpOf<Reduction::kMin> : Min {};

// The running reduction of the lanes of a vector, in log2(lanes) steps (Hillis and Steele, 1986).
template <class T, Reduction r>
class VectorScan {
 public:
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  HWY_INLINE VectorScan()
      : identity_(hn::Set(D(), ReductionIdentity<T>(r))),
        shift_{ShiftBy(1), ShiftBy(2), ShiftBy(4), ShiftBy(8)},
        last_(LastLane()) {}

  HWY_INLINE V Running(V v) const {
    if constexpr (kMost >= 2) v = Step(v, shift_[0], 1);
    if constexpr (kMost >= 4) v = Step(v, shift_[1], 2);
    if constexpr (kMost >= 8) v = Step(v, shift_[2], 4);
    if constexpr (kMost >= 16) v = Step(v, shift_[3], 8);
    return v;
  }
  HWY_INLINE T Last(V v) const { return hn::GetLane(hn::TableLookupLanes(v, last_)); }

 private:
  static constexpr size_t kMost = hn::MaxLanes(D());
  using Indices =
      decltype(hn::SetTableIndices(D(), static_cast<const hwy::MakeSigned<T>*>(nullptr)));

  static HWY_INLINE Indices ShiftBy(size_t by) {
    HWY_ALIGN hwy::MakeSigned<T> from[kMost];
    for (size_t i = 0; i < kMost; ++i)
      from[i] = static_cast<hwy::MakeSigned<T>>(i < by ? 0 : i - by);
    return hn::SetTableIndices(D(), from);
  }
  static HWY_INLINE Indices LastLane() {
    HWY_ALIGN hwy::MakeSigned<T> from[kMost];
    std::fill_n(from, kMost, static_cast<hwy::MakeSigned<T>>(hn::Lanes(D()) - 1));
    return hn::SetTableIndices(D(), from);
  }
  HWY_INLINE V Step(V v, Indices shift, size_t by) const {
    const V before = hn::IfThenElse(hn::FirstN(D(), by), identity_, hn::TableLookupLanes(v, shift));
    return OpOf<r>::Call(D(), before, v);
  }

  const V identity_;
  const Indices shift_[4];
  const Indices last_;
};

// Running reductions of some chains at the same time, an element of each after the other, for
// chains that are too short or too few for vectors.
template <class T, Reduction r>
struct ChainScan {
  static constexpr bool kIsExtreme = r == Reduction::kMax || r == Reduction::kMin;
  using A = std::conditional_t<kIsExtreme, Compute<T>, Accumulator<T>>;

  // Element i of chain q is at i * step + q * apart. `states` has the reductions of the elements
  // before.
  static void Run(const T* in, T* out, int64_t n, int64_t step, int64_t apart, int64_t chains,
                  A* states) {
    int64_t q = 0;
    for (; q + 4 <= chains; q += 4)
      Together<4>(in + q * apart, out + q * apart, n, step, apart, states + q);
    for (; q < chains; ++q)
      Together<1>(in + q * apart, out + q * apart, n, step, apart, states + q);
  }

 private:
  template <int kChains>
  static void Together(const T* in, T* out, int64_t n, int64_t step, int64_t apart, A* states) {
    A state[kChains];
    std::copy_n(states, kChains, state);
    for (int64_t i = 0; i < n; ++i, in += step, out += step) {
#pragma GCC unroll 4
      for (int q = 0; q < kChains; ++q) {
        state[q] = Combine<A>(r, state[q], static_cast<A>(Widen(in[q * apart])));
        out[q * apart] = Narrow<T>(static_cast<Compute<T>>(state[q]));
      }
    }
    std::copy_n(state, kChains, states);
  }
};

template <class T, Reduction r>
struct RowScan {
  using C = Compute<T>;
  // A product of a few floats may overflow although the running product does not.
  static constexpr bool kMultiplies = !std::is_floating_point_v<C> && sizeof(T) == 4;
  using A = typename ChainScan<T, r>::A;
  using D = hn::ScalableTag<C>;
  using V = hn::Vec<D>;

  static void Run(const RunningColumns& c) {
    const auto* in = reinterpret_cast<const T*>(c.in);
    auto* out = reinterpret_cast<T*>(c.out);
    if (c.n < static_cast<int64_t>(hn::Lanes(D()))) return ShortRows(c, in, out);
    const VectorScan<C, r> lanes;
    for (int64_t row = 0; row < c.batch; ++row, in += c.n, out += c.n)
      Row(lanes, in, out, c.n, c.reverse);
  }

 private:
  static void ShortRows(const RunningColumns& c, const T* in, T* out) {
    constexpr int64_t kTogether = 4;
    const int64_t begin = c.reverse ? c.n - 1 : 0, step = c.reverse ? -1 : 1;
    for (int64_t row = 0; row < c.batch; row += kTogether) {
      A states[kTogether];
      std::fill_n(states, kTogether, ReductionIdentity<A>(r));
      const int64_t at = row * c.n + begin;
      ChainScan<T, r>::Run(in + at, out + at, c.n, step, c.n, std::min(kTogether, c.batch - row),
                           states);
    }
  }
  static HWY_INLINE void Row(const VectorScan<C, r>& lanes, const T* in, T* out, int64_t n,
                             bool reverse) {
    const auto step = static_cast<int64_t>(hn::Lanes(D()));
    auto carry = ReductionIdentity<A>(r);
    int64_t k = 0;
    for (; k + step <= n; k += step) {
      const int64_t at = reverse ? n - k - step : k;
      Next(lanes, in + at, out + at, reverse, carry);
    }
    if (k == n) return;
    HWY_ALIGN T rest[hn::MaxLanes(D())];
    const auto left = static_cast<size_t>(n - k);
    const size_t begin = reverse ? static_cast<size_t>(step) - left : 0;
    const int64_t at = reverse ? 0 : k;
    std::fill_n(rest, step, Narrow<T>(ReductionIdentity<C>(r)));
    std::memcpy(rest + begin, in + at, left * sizeof(T));
    Next(lanes, rest, rest, reverse, carry);
    std::memcpy(out + at, rest + begin, left * sizeof(T));
  }
  static HWY_INLINE void Next(const VectorScan<C, r>& lanes, const T* in, T* out, bool reverse,
                              A& carry) {
    const D d;
    V v = RowLanes<T, D>::Load(in);
    if (reverse) v = hn::Reverse(d, v);
    const V local = lanes.Running(v);
    V y = OpOf<r>::Call(d, hn::Set(d, static_cast<C>(carry)), local);
    carry = Combine<A>(r, carry, static_cast<A>(lanes.Last(local)));
    if (reverse) y = hn::Reverse(d, y);
    RowLanes<T, D>::Store(y, out);
  }
};

template <class T, Reduction r>
struct PanelScan {
  using C = Compute<T>;
  static constexpr bool kMultiplies = std::is_floating_point_v<C> || sizeof(T) == 4;
  using A = typename ChainScan<T, r>::A;
  using DA = hn::ScalableTag<A>;
  using D = hn::Rebind<C, DA>;
  static constexpr int64_t kRows = 4;  // that are read together: they and the next stay in L1
  static constexpr int64_t kNarrowRows = 256;

  static void Run(const RunningColumns& c) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(DA()));
    HWY_ALIGN A state[kMostColumns];
    std::fill_n(state, kMostColumns, ReductionIdentity<A>(r));
    const int64_t begin = c.reverse ? (c.n - 1) * c.stride : 0;
    const int64_t step = c.reverse ? -c.stride : c.stride;
    const T* in = reinterpret_cast<const T*>(c.in) + begin;
    T* out = reinterpret_cast<T*>(c.out) + begin;
    const int64_t rows = c.columns >= lanes ? kRows : kNarrowRows;
    const bool fetches = c.columns >= lanes && c.columns < c.stride;
    for (int64_t i = 0; i < c.n; i += rows, in += rows * step, out += rows * step) {
      const int64_t now = std::min(rows, c.n - i);
      if (fetches)
        for (int64_t k = rows; k < std::min(2 * rows, c.n - i); ++k)
          Fetch(in, out, k * step, c.columns);
      int64_t j = 0;
      for (; j + 4 * lanes <= c.columns; j += 4 * lanes)
        FourVectors(in + j, out + j, now, step, state + j);
      for (; j + lanes <= c.columns; j += lanes) Vector(in + j, out + j, now, step, state + j);
      if (j < c.columns)
        ChainScan<T, r>::Run(in + j, out + j, now, step, 1, c.columns - j, state + j);
    }
  }

 private:
  using V = hn::Vec<DA>;
  static HWY_INLINE V Next(V sum, const T* in, T* out) {
    sum = OpOf<r>::Call(DA(), sum, Load(in));
    Store(sum, out);
    return sum;
  }
  static HWY_INLINE void Vector(const T* in, T* out, int64_t n, int64_t step, A* state) {
    V v = hn::Load(DA(), state);
    for (int64_t i = 0; i < n; ++i) v = Next(v, in + i * step, out + i * step);
    hn::Store(v, DA(), state);
  }
  static HWY_INLINE void FourVectors(const T* in, T* out, int64_t n, int64_t step, A* state) {
    const DA d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    V v0 = hn::Load(d, state), v1 = hn::Load(d, state + lanes);
    V v2 = hn::Load(d, state + 2 * lanes), v3 = hn::Load(d, state + 3 * lanes);
    for (int64_t i = 0; i < n; ++i, in += step, out += step) {
      v0 = Next(v0, in, out), v1 = Next(v1, in + lanes, out + lanes);
      v2 = Next(v2, in + 2 * lanes, out + 2 * lanes);
      v3 = Next(v3, in + 3 * lanes, out + 3 * lanes);
    }
    hn::Store(v0, d, state), hn::Store(v1, d, state + lanes);
    hn::Store(v2, d, state + 2 * lanes), hn::Store(v3, d, state + 3 * lanes);
  }
  // Rows that are far apart are not fetched by the processor in time.
  static HWY_INLINE void Fetch(const T* in, T* out, int64_t ahead, int64_t columns) {
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
    for (int64_t j = 0; j < columns; j += kLine) {
      hwy::Prefetch(in + ahead + j);
      if (in != out) __builtin_prefetch(out + ahead + j, 1);
    }
  }
  static HWY_INLINE hn::Vec<DA> Load(const T* in) {
    if constexpr (std::is_same_v<C, A>)
      return RowLanes<T, DA>::Load(in);
    else
      return hn::PromoteTo(DA(), RowLanes<T, D>::Load(in));
  }
  static HWY_INLINE void Store(hn::Vec<DA> v, T* out) {
    if constexpr (std::is_same_v<C, A>)
      RowLanes<T, DA>::Store(v, out);
    else
      RowLanes<T, D>::Store(hn::DemoteTo(D(), v), out);
  }
};

template <template <class, Reduction> class Shape, class T>
RunningFn FunctionOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return &Shape<T, Reduction::kSum>::Run;
    case Reduction::kMax:
      return &Shape<T, Reduction::kMax>::Run;
    case Reduction::kMin:
      return &Shape<T, Reduction::kMin>::Run;
    case Reduction::kProd:
      if constexpr (Shape<T, Reduction::kProd>::kMultiplies)
        return &Shape<T, Reduction::kProd>::Run;
      return nullptr;
    default:
      return nullptr;
  }
}

template <template <class, Reduction> class Shape>
RunningFn FunctionFor(DType dtype, Reduction reduction) {
  RunningFn function = nullptr;
  base::VisitElement(dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (!kIsComplex<T> && sizeof(Compute<T>) >= 4)
      function = FunctionOf<Shape, T>(reduction);
  });
  return function;
}
RunningFn RowFunction(DType dtype, Reduction reduction) {
  return FunctionFor<RowScan>(dtype, reduction);
}
RunningFn ColumnsFunction(DType dtype, Reduction reduction) {
  return FunctionFor<PanelScan>(dtype, reduction);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(RowFunction);
HWY_EXPORT(ColumnsFunction);

RunningFn RunningRowOf(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(RowFunction)(dtype, reduction);
}
RunningFn RunningColumnsOf(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(ColumnsFunction)(dtype, reduction);
}

}  // namespace tessera::kernels
#endif

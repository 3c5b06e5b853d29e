// Running reductions in vectors. Compiled once per instruction set. Sums of floats are carried from
// one vector to the next in f64.
#include "kernels/reduce/running.h"

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
#include "kernels/reduce/reduce_elements.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {

constexpr int64_t kMostColumns = 256;

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

// Elements T, and the lanes in which they accumulate.
template <class T, Reduction r>
struct PanelLanes {
  static constexpr bool kIsExtreme = r == Reduction::kMax || r == Reduction::kMin;
  using A = std::conditional_t<kIsExtreme, T, Accumulator<T>>;
  using DA = hn::ScalableTag<A>;
  using D = hn::Rebind<T, DA>;

  static HWY_INLINE hn::Vec<DA> Load(const T* in) {
    if constexpr (std::is_same_v<T, A>)
      return hn::LoadU(DA(), in);
    else
      return hn::PromoteTo(DA(), hn::LoadU(D(), in));
  }
  static HWY_INLINE void Store(hn::Vec<DA> v, T* out) {
    if constexpr (std::is_same_v<T, A>)
      hn::StoreU(v, DA(), out);
    else
      hn::StoreU(hn::DemoteTo(D(), v), D(), out);
  }
};

template <class T, Reduction r>
struct RowScan {
  // A product of a few floats may overflow although the running product does not.
  static constexpr bool kMultiplies = !std::is_floating_point_v<T> && sizeof(T) == 4;
  using A = typename PanelLanes<T, r>::A;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

  static void Run(const RunningColumns& c) {
    const VectorScan<T, r> lanes;
    const auto* in = reinterpret_cast<const T*>(c.in);
    auto* out = reinterpret_cast<T*>(c.out);
    const auto step = static_cast<int64_t>(hn::Lanes(D()));
    auto carry = ReductionIdentity<A>(r);
    int64_t k = 0;
    for (; k + step <= c.n; k += step) {
      const int64_t at = c.reverse ? c.n - k - step : k;
      Next(lanes, in + at, out + at, c.reverse, carry);
    }
    if (k == c.n) return;
    HWY_ALIGN T rest[hn::MaxLanes(D())];
    const auto left = static_cast<size_t>(c.n - k);
    const size_t begin = c.reverse ? static_cast<size_t>(step) - left : 0;
    const int64_t at = c.reverse ? 0 : k;
    std::fill_n(rest, step, ReductionIdentity<T>(r));
    std::memcpy(rest + begin, in + at, left * sizeof(T));
    Next(lanes, rest, rest, c.reverse, carry);
    std::memcpy(out + at, rest + begin, left * sizeof(T));
  }

 private:
  static HWY_INLINE void Next(const VectorScan<T, r>& lanes, const T* in, T* out, bool reverse,
                              A& carry) {
    const D d;
    V v = hn::LoadU(d, in);
    if (reverse) v = hn::Reverse(d, v);
    const V local = lanes.Running(v);
    V y = OpOf<r>::Call(d, hn::Set(d, static_cast<T>(carry)), local);
    carry = Combine<A>(r, carry, static_cast<A>(lanes.Last(local)));
    if (reverse) y = hn::Reverse(d, y);
    hn::StoreU(y, d, out);
  }
};

template <class T, Reduction r>
struct PanelScan : PanelLanes<T, r> {
  static constexpr bool kMultiplies = std::is_floating_point_v<T> || sizeof(T) == 4;
  using typename PanelLanes<T, r>::A;
  using typename PanelLanes<T, r>::DA;

  static void Run(const RunningColumns& c) {
    const DA d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    HWY_ALIGN A state[kMostColumns];
    std::fill_n(state, kMostColumns, ReductionIdentity<A>(r));
    for (int64_t i = 0; i < c.n; ++i) {
      const int64_t row = (c.reverse ? c.n - 1 - i : i) * c.stride;
      const T* in = reinterpret_cast<const T*>(c.in) + row;
      T* out = reinterpret_cast<T*>(c.out) + row;
      int64_t j = 0;
      for (; j + lanes <= c.columns; j += lanes) {
        const auto v = OpOf<r>::Call(d, hn::Load(d, state + j), PanelLanes<T, r>::Load(in + j));
        hn::Store(v, d, state + j);
        PanelLanes<T, r>::Store(v, out + j);
      }
      for (; j < c.columns; ++j) {
        state[j] = Combine<A>(r, state[j], static_cast<A>(in[j]));
        out[j] = static_cast<T>(state[j]);
      }
    }
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
    if constexpr (std::is_arithmetic_v<T> && sizeof(T) >= 4)
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

// Reductions over rows in vectors. Compiled once per instruction set.
#include "kernels/window/window_simd.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <type_traits>

#include "base/dtype.h"
#include "base/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/window/window_simd.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// Highway requires this order of includes: the targets first.
#include "kernels/elements/simd_arithmetic.h"
#include "kernels/elements/simd_formats.h"
#include "kernels/reduce/reduce_elements.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels {
namespace HWY_NAMESPACE {
namespace {

template <Reduction r>
struct RowOp;
template <>
struct RowOp<Reduction::kSum> : Add {};
template <>
struct RowOp<Reduction::kProd> : Mul {};
template <>
struct RowOp<Reduction::kMax> : Max {};
template <>
struct RowOp<Reduction::kMin> : Min {};
template <>
struct RowOp<Reduction::kAnd> : And {};
template <>
struct RowOp<Reduction::kOr> : Or {};
template <>
struct RowOp<Reduction::kXor> : Xor {};

// Vectors of accumulators A, loaded from and stored to elements T.
template <class T, class D>
struct RowLanes {
  using A = hn::TFromD<D>;
  using Format = std::conditional_t<std::is_same_v<T, Float16>, HalfFormat, BrainFormat>;
  static HWY_INLINE hn::Vec<D> Load(const T* in) {
    if constexpr (std::is_same_v<T, A>)
      return hn::LoadU(D(), in);
    else
      return LoadFloats(Format(), D(), reinterpret_cast<const uint16_t*>(in));
  }
  static HWY_INLINE void Store(hn::Vec<D> v, T* out) {
    if constexpr (std::is_same_v<T, A>)
      hn::StoreU(v, D(), out);
    else
      StoreFloats(Format(), D(), v, reinterpret_cast<uint16_t*>(out));
  }
};

template <Reduction r, class A, class In, class Out>
struct RowReduction {
  using D = hn::ScalableTag<A>;
  // More rows are combined half by half, so that sums round less.
  static constexpr int64_t kMostRows = 32;

  static void Run(const std::byte* const* bytes, int64_t count, std::byte* result, int64_t n,
                  int64_t ahead) {
    const auto* rows = reinterpret_cast<const In* const*>(bytes);
    Out* out = reinterpret_cast<Out*>(result);
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    int64_t i = 0;
    // Highway has no product of 8-bit lanes.
    if constexpr (sizeof(A) > 1 || r != Reduction::kProd) {
      for (; i + 4 * lanes <= n; i += 4 * lanes) {
        if (ahead != 0) Fetch<4>(rows, count, i, ahead);
        Vectors<D, 4>(rows, count, i, out);
      }
      if (ahead != 0)
        for (int64_t j = i; j < n; j += lanes) Fetch<1>(rows, count, j, ahead);
      i = Rest<D>(rows, count, i, n, out);
    }
    for (; i < n; ++i) out[i] = Narrow<Out>(At(rows, count, i));
  }

 private:
  template <int kVectors>
  static HWY_INLINE void Fetch(const In* const* rows, int64_t count, int64_t i, int64_t ahead) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    for (int64_t k = 0; k < count; ++k)
      for (int64_t j = 0; j < kVectors; ++j)
        hwy::Prefetch(reinterpret_cast<const std::byte*>(rows[k] + i + j * lanes) + ahead);
  }
  // Combines columns i and later by vectors of D or smaller ones, and returns the first column that
  // is left. The last vector overlaps the one before, unless that has changed its own operand.
  template <class D1>
  static HWY_INLINE int64_t Rest(const In* const* rows, int64_t count, int64_t i, int64_t n,
                                 Out* out) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(D1()));
    for (; i + lanes <= n; i += lanes) Vectors<D1, 1>(rows, count, i, out);
    if (i < n && n >= lanes && static_cast<const void*>(rows[0]) != out) {
      Vectors<D1, 1>(rows, count, n - lanes, out);
      return n;
    }
    if constexpr (sizeof(A) >= 4 && sizeof(A) * hn::MaxLanes(D1()) > 16)
      return Rest<hn::Half<D1>>(rows, count, i, n, out);
    return i;
  }
  template <class D1, int kVectors>
  static HWY_INLINE void Vectors(const In* const* rows, int64_t count, int64_t i, Out* out) {
    hn::Vec<D1> v[kVectors];
    Rows<D1, kVectors>(rows, count, i, v);
    const auto lanes = static_cast<int64_t>(hn::Lanes(D1()));
    for (int64_t j = 0; j < kVectors; ++j) RowLanes<Out, D1>::Store(v[j], out + i + j * lanes);
  }
  template <class D1, int kVectors>
  static HWY_INLINE void Rows(const In* const* rows, int64_t count, int64_t i, hn::Vec<D1>* v) {
    if (HWY_UNLIKELY(count > kMostRows)) return Halves<D1, kVectors>(rows, count, i, v);
    const auto lanes = static_cast<int64_t>(hn::Lanes(D1()));
    for (int64_t j = 0; j < kVectors; ++j) v[j] = RowLanes<In, D1>::Load(rows[0] + i + j * lanes);
    for (int64_t k = 1; k < count; ++k) {
      const In* row = rows[k] + i;
      for (int64_t j = 0; j < kVectors; ++j)
        v[j] = RowOp<r>::Call(D1(), v[j], RowLanes<In, D1>::Load(row + j * lanes));
    }
  }
  template <class D1, int kVectors>
  static HWY_NOINLINE void Halves(const In* const* rows, int64_t count, int64_t i, hn::Vec<D1>* v) {
    hn::Vec<D1> rest[kVectors];
    Rows<D1, kVectors>(rows, count / 2, i, v);
    Rows<D1, kVectors>(rows + count / 2, count - count / 2, i, rest);
    for (int64_t j = 0; j < kVectors; ++j) v[j] = RowOp<r>::Call(D1(), v[j], rest[j]);
  }
  static A At(const In* const* rows, int64_t count, int64_t i) {
    if (count > kMostRows)
      return Combine<A>(r, At(rows, count / 2, i), At(rows + count / 2, count - count / 2, i));
    A v = static_cast<A>(Widen(rows[0][i]));
    for (int64_t k = 1; k < count; ++k) v = Combine<A>(r, v, static_cast<A>(Widen(rows[k][i])));
    return v;
  }
};

template <Reduction r, class T>
RowCombiner CombinerFor() {
  using A = Compute<T>;
  RowCombiner c;
  c.accumulator = dtype_of<A>();
  c.elements = &RowReduction<r, A, T, T>::Run;
  c.widen = &RowReduction<r, A, T, A>::Run;
  c.accumulators = &RowReduction<r, A, A, A>::Run;
  c.narrow = &RowReduction<r, A, A, T>::Run;
  return c;
}

template <class T>
RowCombiner CombinerOf(Reduction reduction) {
  if (reduction == Reduction::kMax) return CombinerFor<Reduction::kMax, T>();
  if (reduction == Reduction::kMin) return CombinerFor<Reduction::kMin, T>();
  // The others have the same bits with and without a sign.
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    RowCombiner c = CombinerOf<std::make_unsigned_t<T>>(reduction);
    c.accumulator = dtype_of<T>();
    return c;
  } else {
    if (reduction == Reduction::kSum) return CombinerFor<Reduction::kSum, T>();
    if (reduction == Reduction::kProd) return CombinerFor<Reduction::kProd, T>();
    if constexpr (std::is_integral_v<T>)
      return reduction == Reduction::kAnd  ? CombinerFor<Reduction::kAnd, T>()
             : reduction == Reduction::kOr ? CombinerFor<Reduction::kOr, T>()
                                           : CombinerFor<Reduction::kXor, T>();
    return {};
  }
}

RowCombiner CombinerFunctions(DType dtype, Reduction reduction) {
  return base::VisitDType(dtype, [&](auto t) -> RowCombiner {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, bool>) {
      const bool any = reduction == Reduction::kSum || reduction == Reduction::kMax ||
                       reduction == Reduction::kOr;
      if (reduction == Reduction::kXor) return CombinerFor<Reduction::kXor, uint8_t>();
      return any ? CombinerFor<Reduction::kOr, uint8_t>() : CombinerFor<Reduction::kAnd, uint8_t>();
    } else {
      return CombinerOf<T>(reduction);
    }
  });
}

// The lanes in which elements T are compared and added.
template <class T>
using ChoiceLane =
    std::conditional_t<(std::is_integral_v<T> && sizeof(T) < 4), int32_t, Compute<T>>;

template <class T>
struct ChoiceLanes {
  using A = ChoiceLane<T>;
  using D = hn::ScalableTag<A>;
  using N = hn::RebindToUnsigned<D>;  // of rows' numbers
  static constexpr bool kIsShort = std::is_integral_v<T> && sizeof(T) < 4;
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

  static HWY_INLINE hn::Vec<D> Load(const T* in) {
    if constexpr (kIsShort)
      return hn::PromoteTo(D(),
                           hn::LoadU(hn::Rebind<Stored, D>(), reinterpret_cast<const Stored*>(in)));
    else
      return RowLanes<T, D>::Load(in);
  }
  static HWY_INLINE void Store(hn::Vec<D> v, T* out) {
    if constexpr (kIsShort) {
      using U = std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t>;
      const hn::Rebind<U, D> d;
      hn::StoreU(hn::TruncateTo(d, hn::BitCast(N(), v)), d, reinterpret_cast<U*>(out));
    } else {
      RowLanes<T, D>::Store(v, out);
    }
  }
};

template <class T, Reduction r>
struct RowChoice {
  using Lanes = ChoiceLanes<T>;
  using A = typename Lanes::A;
  using D = typename Lanes::D;
  using N = typename Lanes::N;
  using Number = hn::TFromD<N>;

  template <class V>
  static HWY_INLINE auto Keeps(V chosen, V next) {
    return r == Reduction::kMax ? Ge::Holds(chosen, next) : Ge::Holds(next, chosen);
  }
  static bool Keeps(T chosen, T next) {
    const A a = static_cast<A>(Widen(chosen)), b = static_cast<A>(Widen(next));
    return r == Reduction::kMax ? a >= b : a <= b;
  }
  template <class E>
  static HWY_INLINE const E* RowAt(const RowTable& rows, const WindowRow& row) {
    return reinterpret_cast<const E*>(rows.first + row.index * rows.next);
  }
  // Returns the place in the list of the row that is chosen for column i.
  static int64_t ChosenAt(const ChosenRows& c, int64_t i) {
    int64_t chosen = 0;
    for (int64_t k = 1; k < c.count; ++k) {
      if (!Keeps(RowAt<T>(c.rows, c.list[chosen])[i], RowAt<T>(c.rows, c.list[k])[i])) chosen = k;
    }
    return chosen;
  }

  static void Take(const ChosenRows& c, std::byte* result) {
    T* out = reinterpret_cast<T*>(result);
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    int64_t i = 0;
    for (; i + lanes <= c.n; i += lanes) {
      auto chosen = Lanes::Load(RowAt<T>(c.rows, c.list[0]) + i);
      auto value = Lanes::Load(RowAt<T>(c.values, c.list[0]) + i);
      for (int64_t k = 1; k < c.count; ++k) {
        const auto next = Lanes::Load(RowAt<T>(c.rows, c.list[k]) + i);
        const auto keeps = Keeps(chosen, next);
        chosen = hn::IfThenElse(keeps, chosen, next);
        value = hn::IfThenElse(keeps, value, Lanes::Load(RowAt<T>(c.values, c.list[k]) + i));
      }
      Lanes::Store(value, out + i);
    }
    for (; i < c.n; ++i) out[i] = RowAt<T>(c.values, c.list[ChosenAt(c, i)])[i];
  }

  static void Choose(const ChosenRows& c, std::byte* result) {
    auto* out = reinterpret_cast<Number*>(result);
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    const N d;
    int64_t i = 0;
    for (; i + lanes <= c.n; i += lanes) {
      auto chosen = Lanes::Load(RowAt<T>(c.rows, c.list[0]) + i);
      auto number = hn::Set(d, static_cast<Number>(c.list[0].number));
      for (int64_t k = 1; k < c.count; ++k) {
        const auto next = Lanes::Load(RowAt<T>(c.rows, c.list[k]) + i);
        const auto keeps = Keeps(chosen, next);
        chosen = hn::IfThenElse(keeps, chosen, next);
        number = hn::IfThenElse(hn::RebindMask(d, keeps), number,
                                hn::Set(d, static_cast<Number>(c.list[k].number)));
      }
      hn::StoreU(number, d, out + i);
    }
    for (; i < c.n; ++i) out[i] = static_cast<Number>(c.list[ChosenAt(c, i)].number);
  }

  static void AddChosen(const ChosenRows& c, std::byte* result) {
    T* out = reinterpret_cast<T*>(result);
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    const D d;
    const N dn;
    int64_t i = 0;
    for (; i + lanes <= c.n; i += lanes) {
      auto sum = hn::Zero(d);
      for (int64_t k = 0; k < c.count; ++k) {
        const auto number = hn::Set(dn, static_cast<Number>(c.list[k].number));
        const auto held = hn::LoadU(dn, RowAt<Number>(c.rows, c.list[k]) + i);
        const auto is = hn::RebindMask(d, hn::Eq(held, number));
        const auto value = Lanes::Load(RowAt<T>(c.values, c.list[k]) + i);
        sum = hn::Add(sum, hn::IfThenElseZero(is, value));
      }
      Lanes::Store(sum, out + i);
    }
    for (; i < c.n; ++i) {
      A sum = 0;
      for (int64_t k = 0; k < c.count; ++k)
        if (RowAt<Number>(c.rows, c.list[k])[i] == static_cast<Number>(c.list[k].number))
          sum = WrapAdd(sum, static_cast<A>(Widen(RowAt<T>(c.values, c.list[k])[i])));
      out[i] = Narrow<T>(static_cast<Compute<T>>(sum));
    }
  }

  static void Put(const ChosenRows& c, std::byte* result) {
    const T* values = reinterpret_cast<const T*>(c.values.first);
    const auto row = [&](int64_t k) {
      return reinterpret_cast<T*>(result + c.list[k].index * c.rows.next);
    };
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    const D d;
    const N dn;
    int64_t i = 0;
    for (; i + lanes <= c.n; i += lanes) {
      auto chosen = Lanes::Load(RowAt<T>(c.rows, c.list[0]) + i);
      auto place = hn::Zero(dn);
      for (int64_t k = 1; k < c.count; ++k) {
        const auto next = Lanes::Load(RowAt<T>(c.rows, c.list[k]) + i);
        const auto keeps = Keeps(chosen, next);
        chosen = hn::IfThenElse(keeps, chosen, next);
        place =
            hn::IfThenElse(hn::RebindMask(dn, keeps), place, hn::Set(dn, static_cast<Number>(k)));
      }
      // Added to 0, so -0 becomes 0.
      const auto value = hn::Add(hn::Zero(d), Lanes::Load(values + i));
      for (int64_t k = 0; k < c.count; ++k) {
        const auto is = hn::RebindMask(d, hn::Eq(place, hn::Set(dn, static_cast<Number>(k))));
        Lanes::Store(hn::IfThenElseZero(is, value), row(k) + i);
      }
    }
    for (; i < c.n; ++i) {
      const int64_t chosen = ChosenAt(c, i);
      for (int64_t k = 0; k < c.count; ++k) row(k)[i] = T{};
      row(chosen)[i] =
          Narrow<T>(static_cast<Compute<T>>(WrapAdd(A{}, static_cast<A>(Widen(values[i])))));
    }
  }
};

RowChooser ChooserFunctions(DType dtype, Reduction reduction) {
  return base::VisitDType(dtype, [&](auto t) -> RowChooser {
    using T = decltype(t);
    using Max = RowChoice<T, Reduction::kMax>;
    using Min = RowChoice<T, Reduction::kMin>;
    constexpr int kSize = sizeof(typename Max::Number);
    if (reduction == Reduction::kMax)
      return {kSize, &Max::Take, &Max::Choose, &Max::AddChosen, &Max::Put};
    return {kSize, &Min::Take, &Min::Choose, &Max::AddChosen, &Min::Put};
  });
}

void SplitPairsOf(const uint32_t* in, uint32_t* even, uint32_t* odd, int64_t n) {
  const hn::ScalableTag<uint32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::Vec<decltype(d)> a, b;
    hn::LoadInterleaved2(d, in + 2 * i, a, b);
    hn::StoreU(a, d, even + i);
    hn::StoreU(b, d, odd + i);
  }
  for (; i < n; ++i) even[i] = in[2 * i], odd[i] = in[2 * i + 1];
}

SplitPairsFn SplitPairsFunction() { return &SplitPairsOf; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(CombinerFunctions);
HWY_EXPORT(ChooserFunctions);
HWY_EXPORT(SplitPairsFunction);

RowCombiner RowCombinerOf(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(CombinerFunctions)(dtype, reduction);
}
RowChooser RowChooserOf(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(ChooserFunctions)(dtype, reduction);
}
SplitPairsFn SplitPairs() { return HWY_DYNAMIC_DISPATCH(SplitPairsFunction)(); }

}  // namespace tessera::kernels
#endif

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
#include "kernels/elements/simd_rows.h"
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

template <Reduction r, class A, class In, class Out>
struct RowReduction {
  using D = hn::ScalableTag<A>;
  // More rows are combined half by half, so that sums round less.
  static constexpr int64_t kMostRows = 32;
  template <class D1, class T>
  using Lanes = RowLanes<T, D1>;

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
        FourVectors(rows, count, i, out);
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
    for (; i + lanes <= n; i += lanes) Lanes<D1, Out>::Store(Vector<D1>(rows, count, i), out + i);
    if (i < n && n >= lanes && static_cast<const void*>(rows[0]) != out) {
      Lanes<D1, Out>::Store(Vector<D1>(rows, count, n - lanes), out + n - lanes);
      return n;
    }
    if constexpr (sizeof(A) >= 4 && sizeof(A) * hn::MaxLanes(D1()) > 16)
      return Rest<hn::Half<D1>>(rows, count, i, n, out);
    return i;
  }
  // Four variables, as the compiler keeps an array of vectors in memory.
  static HWY_INLINE void FourVectors(const In* const* rows, int64_t count, int64_t i, Out* out) {
    using Loaded = Lanes<D, In>;
    using Stored = Lanes<D, Out>;
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (HWY_UNLIKELY(count > kMostRows)) {
      for (int64_t j = i; j < i + 4 * lanes; j += lanes)
        Stored::Store(Vector<D>(rows, count, j), out + j);
      return;
    }
    const In* row = rows[0] + i;
    auto v0 = Loaded::Load(row), v1 = Loaded::Load(row + lanes);
    auto v2 = Loaded::Load(row + 2 * lanes), v3 = Loaded::Load(row + 3 * lanes);
    for (int64_t k = 1; k < count; ++k) {
      row = rows[k] + i;
      v0 = RowOp<r>::Call(d, v0, Loaded::Load(row));
      v1 = RowOp<r>::Call(d, v1, Loaded::Load(row + lanes));
      v2 = RowOp<r>::Call(d, v2, Loaded::Load(row + 2 * lanes));
      v3 = RowOp<r>::Call(d, v3, Loaded::Load(row + 3 * lanes));
    }
    Stored::Store(v0, out + i), Stored::Store(v1, out + i + lanes);
    Stored::Store(v2, out + i + 2 * lanes), Stored::Store(v3, out + i + 3 * lanes);
  }
  template <class D1>
  static HWY_INLINE hn::Vec<D1> Vector(const In* const* rows, int64_t count, int64_t i) {
    if (HWY_UNLIKELY(count > kMostRows)) return Halves<D1>(rows, count, i);
    auto v = Lanes<D1, In>::Load(rows[0] + i);
    for (int64_t k = 1; k < count; ++k)
      v = RowOp<r>::Call(D1(), v, Lanes<D1, In>::Load(rows[k] + i));
    return v;
  }
  template <class D1>
  static HWY_NOINLINE hn::Vec<D1> Halves(const In* const* rows, int64_t count, int64_t i) {
    const auto first = Vector<D1>(rows, count / 2, i);
    return RowOp<r>::Call(D1(), first, Vector<D1>(rows + count / 2, count - count / 2, i));
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

// Calls vector(i) for the columns [i, i + lanes), or one(i) for single columns. The last vector may
// overlap the one before.
template <class Vector, class One>
HWY_INLINE void ForColumns(int64_t n, int64_t lanes, Vector vector, One one) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(i);
  if (i < n && n >= lanes) return vector(n - lanes);
  for (; i < n; ++i) one(i);
}

template <class T, Reduction r>
struct RowChoice {
  using Lanes = ChoiceLanes<T>;
  using A = typename Lanes::A;
  using D = typename Lanes::D;
  using N = typename Lanes::N;
  using Number = hn::TFromD<N>;

  static HWY_INLINE int64_t Count() { return static_cast<int64_t>(hn::Lanes(D())); }
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
    const auto vector = [&](int64_t i) HWY_ATTR {
      auto chosen = Lanes::Load(RowAt<T>(c.rows, c.list[0]) + i);
      auto value = Lanes::Load(RowAt<T>(c.values, c.list[0]) + i);
      for (int64_t k = 1; k < c.count; ++k) {
        const auto next = Lanes::Load(RowAt<T>(c.rows, c.list[k]) + i);
        const auto keeps = Keeps(chosen, next);
        chosen = hn::IfThenElse(keeps, chosen, next);
        value = hn::IfThenElse(keeps, value, Lanes::Load(RowAt<T>(c.values, c.list[k]) + i));
      }
      Lanes::Store(value, out + i);
    };
    ForColumns(c.n, Count(), vector,
               [&](int64_t i) { out[i] = RowAt<T>(c.values, c.list[ChosenAt(c, i)])[i]; });
  }

  static void Choose(const ChosenRows& c, std::byte* result) {
    auto* out = reinterpret_cast<Number*>(result);
    const auto vector = [&](int64_t i) HWY_ATTR {
      const N d;
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
    };
    ForColumns(c.n, Count(), vector,
               [&](int64_t i) { out[i] = static_cast<Number>(c.list[ChosenAt(c, i)].number); });
  }

  static void AddChosen(const ChosenRows& c, std::byte* result) {
    T* out = reinterpret_cast<T*>(result);
    const auto vector = [&](int64_t i) HWY_ATTR {
      const D d;
      const N dn;
      auto sum = hn::Zero(d);
      for (int64_t k = 0; k < c.count; ++k) {
        const auto number = hn::Set(dn, static_cast<Number>(c.list[k].number));
        const auto held = hn::LoadU(dn, RowAt<Number>(c.rows, c.list[k]) + i);
        const auto is = hn::RebindMask(d, hn::Eq(held, number));
        const auto value = Lanes::Load(RowAt<T>(c.values, c.list[k]) + i);
        sum = hn::Add(sum, hn::IfThenElseZero(is, value));
      }
      Lanes::Store(sum, out + i);
    };
    ForColumns(c.n, Count(), vector, [&](int64_t i) {
      A sum = 0;
      for (int64_t k = 0; k < c.count; ++k)
        if (RowAt<Number>(c.rows, c.list[k])[i] == static_cast<Number>(c.list[k].number))
          sum = WrapAdd(sum, static_cast<A>(Widen(RowAt<T>(c.values, c.list[k])[i])));
      out[i] = Narrow<T>(static_cast<Compute<T>>(sum));
    });
  }

  static void Put(const ChosenRows& c, std::byte* result) {
    const T* values = reinterpret_cast<const T*>(c.values.first);
    const auto row = [&](int64_t k) {
      return reinterpret_cast<T*>(result + c.list[k].index * c.rows.next);
    };
    const auto vector = [&](int64_t i) HWY_ATTR {
      const D d;
      const N dn;
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
    };
    ForColumns(c.n, Count(), vector, [&](int64_t i) {
      const int64_t chosen = ChosenAt(c, i);
      for (int64_t k = 0; k < c.count; ++k) row(k)[i] = T{};
      row(chosen)[i] =
          Narrow<T>(static_cast<Compute<T>>(WrapAdd(A{}, static_cast<A>(Widen(values[i])))));
    });
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

template <class T>
struct PairsOf {
  static constexpr int64_t kAhead =
      2048;  // bytes from those that are read to those that are fetched

  static void Split(const std::byte* pairs, std::byte* evens, std::byte* odds, int64_t n) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const T* in = reinterpret_cast<const T*>(pairs);
    T *even = reinterpret_cast<T*>(evens), *odd = reinterpret_cast<T*>(odds);
    const auto vector = [&](int64_t i) HWY_ATTR {
      hn::Vec<decltype(d)> a, b;
      hwy::Prefetch(reinterpret_cast<const std::byte*>(in + 2 * i) + kAhead);
      hwy::Prefetch(reinterpret_cast<const std::byte*>(in + 2 * i + lanes) + kAhead);
      hn::LoadInterleaved2(d, in + 2 * i, a, b);
      hn::StoreU(a, d, even + i);
      hn::StoreU(b, d, odd + i);
    };
    ForColumns(n, lanes, vector, [&](int64_t i) { even[i] = in[2 * i], odd[i] = in[2 * i + 1]; });
  }
  static void Join(const std::byte* evens, const std::byte* odds, std::byte* pairs, int64_t n) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const T *even = reinterpret_cast<const T*>(evens), *odd = reinterpret_cast<const T*>(odds);
    T* out = reinterpret_cast<T*>(pairs);
    const auto vector = [&](int64_t i) HWY_ATTR {
      hn::StoreInterleaved2(hn::LoadU(d, even + i), hn::LoadU(d, odd + i), d, out + 2 * i);
    };
    ForColumns(n, lanes, vector, [&](int64_t i) { out[2 * i] = even[i], out[2 * i + 1] = odd[i]; });
  }
};

template <class T>
ElementPairs PairsFor() {
  return {&PairsOf<T>::Split, &PairsOf<T>::Join};
}

ElementPairs PairsFunctions(int64_t size) {
  if (size == 1) return PairsFor<uint8_t>();
  if (size == 2) return PairsFor<uint16_t>();
  return size == 4 ? PairsFor<uint32_t>() : PairsFor<uint64_t>();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels {

HWY_EXPORT(CombinerFunctions);
HWY_EXPORT(ChooserFunctions);
HWY_EXPORT(PairsFunctions);

RowCombiner RowCombinerOf(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(CombinerFunctions)(dtype, reduction);
}
RowChooser RowChooserOf(DType dtype, Reduction reduction) {
  return HWY_DYNAMIC_DISPATCH(ChooserFunctions)(dtype, reduction);
}
ElementPairs PairsOfSize(int64_t size) { return HWY_DYNAMIC_DISPATCH(PairsFunctions)(size); }

}  // namespace tessera::kernels
#endif

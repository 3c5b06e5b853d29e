// Vector arithmetic for every lane type, compiled once per target.
#if defined(TESSERA_SIMD_ARITHMETIC_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_ARITHMETIC_H_
#undef TESSERA_SIMD_ARITHMETIC_H_
#else
#define TESSERA_SIMD_ARITHMETIC_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using BitsTag = hn::RebindToUnsigned<D>;
template <class D>
using SignedTag = hn::RebindToSigned<D>;
template <class D>
using VecOf = hn::Vec<D>;
template <class D>
inline constexpr bool kIsFloat = hwy::IsFloat<hn::TFromD<D>>();

struct Neg {
  template <class D, class V>
  static HWY_INLINE V Call(D, V x) {
    return hn::Neg(x);
  }
};
struct Abs {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    using T = hn::TFromD<D>;
    if constexpr (!std::is_signed_v<T>)
      return x;
    else if constexpr (kIsFloat<D> || sizeof(T) == 4)
      return hn::Abs(x);
    else
      return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Neg(x), x);
  }
};
struct Sign {  // for floats: keeps -0 and NaN
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    using T = hn::TFromD<D>;
    const V zero = hn::Zero(d), one = hn::Set(d, T{1});
    if constexpr (kIsFloat<D>) {
      const auto other = hn::Or(hn::IsNaN(x), hn::Eq(x, zero));
      return hn::IfThenElse(other, x, hn::CopySign(one, x));
    } else if constexpr (std::is_signed_v<T>) {
      return hn::IfThenElse(hn::Gt(x, zero), one,
                            hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, T(-1)), zero));
    } else {
      return hn::IfThenElse(hn::Eq(x, zero), zero, one);
    }
  }
};
struct Square {
  template <class D, class V>
  static HWY_INLINE V Call(D, V x) {
    return hn::Mul(x, x);
  }
};
struct Floor {
  template <class D, class V>
  static HWY_INLINE V Call(D, V x) {
    return hn::Floor(x);
  }
};
struct Ceil {
  template <class D, class V>
  static HWY_INLINE V Call(D, V x) {
    return hn::Ceil(x);
  }
};
struct RoundEven {
  template <class D, class V>
  static HWY_INLINE V Call(D, V x) {
    return hn::Round(x);
  }
};
// trunc is exact, and so are the other steps: unlike x + 0.5, nothing is rounded twice
struct RoundAway {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    using T = hn::TFromD<D>;
    const V whole = hn::Trunc(x), rest = hn::Abs(hn::Sub(x, whole));
    const V step = hn::CopySign(hn::Set(d, T{1}), x);
    const V rounded = hn::IfThenElse(hn::Ge(rest, hn::Set(d, T{0.5})), hn::Add(whole, step), whole);
    return hn::CopySign(rounded, x);
  }
};
struct Sqrt {
  template <class D, class V>
  static HWY_INLINE V Call(D, V x) {
    return hn::Sqrt(x);
  }
};
struct Rsqrt {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Sqrt(x));
  }
};
struct IsFinite {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const V largest = hn::Set(d, hwy::HighestValue<hn::TFromD<D>>());
    return hn::VecFromMask(d, hn::Le(hn::Abs(x), largest));
  }
};
struct Not {
  template <class D, class V>
  static HWY_INLINE V Call(D, V x) {
    return hn::Not(x);
  }
};

struct Add {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct Sub {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Sub(a, b);
  }
};
struct Mul {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Mul(a, b);
  }
};
struct Div {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Div(a, b);
  }
};
struct And {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::And(a, b);
  }
};
struct Or {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Or(a, b);
  }
};
struct Xor {
  template <class D, class V>
  static HWY_INLINE V Call(D, V a, V b) {
    return hn::Xor(a, b);
  }
};

// NaN wins and -0 < +0. The max of x86 returns its second operand if one is NaN or both are zeros,
// so we compute both orders. For equal operands the "and" of their bits (for min: "or") is the
// right zero.
#if HWY_TARGET == HWY_AVX3
template <int kRange, class T>
HWY_INLINE hwy::N_AVX3::Vec512<T> RangeOrNan(hwy::N_AVX3::Vec512<T> a, hwy::N_AVX3::Vec512<T> b) {
  using V = hwy::N_AVX3::Vec512<T>;
  if constexpr (sizeof(T) == 4) {
    const __mmask16 nan = _mm512_cmp_ps_mask(a.raw, b.raw, _CMP_UNORD_Q);
    return V{_mm512_mask_add_ps(_mm512_range_ps(a.raw, b.raw, kRange), nan, a.raw, b.raw)};
  } else {
    const __mmask8 nan = _mm512_cmp_pd_mask(a.raw, b.raw, _CMP_UNORD_Q);
    return V{_mm512_mask_add_pd(_mm512_range_pd(a.raw, b.raw, kRange), nan, a.raw, b.raw)};
  }
}
#endif
struct Max {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    if constexpr (!kIsFloat<D>) {
      return hn::Max(a, b);
    } else {
#if HWY_TARGET == HWY_AVX3
      if constexpr (sizeof(V) == 64) return RangeOrNan<5>(a, b);
#endif
      const auto nan = hn::VecFromMask(d, hn::Or(hn::IsNaN(a), hn::IsNaN(b)));
      return hn::Or(hn::And(hn::Max(a, b), hn::Max(b, a)), nan);
    }
  }
};
struct Min {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    if constexpr (!kIsFloat<D>) {
      return hn::Min(a, b);
    } else {
#if HWY_TARGET == HWY_AVX3
      if constexpr (sizeof(V) == 64) return RangeOrNan<4>(a, b);
#endif
      const auto nan = hn::VecFromMask(d, hn::Or(hn::IsNaN(a), hn::IsNaN(b)));
      return hn::Or(hn::Or(hn::Min(a, b), hn::Min(b, a)), nan);
    }
  }
};

// Comparisons. Holds returns a mask, and Call the same as lanes of all ones or all zeros.
struct Eq {
  template <class V>
  static HWY_INLINE auto Holds(V a, V b) {
    return hn::Eq(a, b);
  }
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    return hn::VecFromMask(d, Holds(a, b));
  }
};
struct Ne {  // Highway's own Ne returns false for NaN
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    return hn::Not(hn::VecFromMask(d, hn::Eq(a, b)));
  }
};
struct Lt {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    return hn::VecFromMask(d, hn::Lt(a, b));
  }
};
struct Le {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    if constexpr (kIsFloat<D>)
      return hn::VecFromMask(d, hn::Le(a, b));
    else
      return hn::Not(hn::VecFromMask(d, hn::Gt(a, b)));
  }
};
struct Gt {
  template <class V>
  static HWY_INLINE auto Holds(V a, V b) {
    return hn::Gt(a, b);
  }
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    return hn::VecFromMask(d, Holds(a, b));
  }
};
struct Ge {
  template <class V>
  static HWY_INLINE auto Holds(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>())
      return hn::Ge(a, b);
    else
      return hn::Not(hn::Gt(b, a));
  }
  template <class D, class V>
  static HWY_INLINE V Call(D d, V a, V b) {
    return hn::VecFromMask(d, Holds(a, b));
  }
};

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard

// Conversions between f32 and the bits of f16 and bf16 in 32-bit lanes, compiled once per target.
#if defined(TESSERA_SIMD_FORMATS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_FORMATS_H_
#undef TESSERA_SIMD_FORMATS_H_
#else
#define TESSERA_SIMD_FORMATS_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether the target converts between f16 and f32 in hardware. Otherwise Highway's conversions do
// not handle infinities and NaN.
inline constexpr bool kConvertsF16 = HWY_TARGET <= HWY_AVX2;

// Rounds off kDropped bits to nearest even: adds half of the last kept bit, less one if that bit is
// even, and cuts.
template <int kDropped, class DU, class VU>
HWY_INLINE VU RoundBits(DU d, VU bits) {
  const VU odd = hn::And(hn::ShiftRight<kDropped>(bits), hn::Set(d, 1u));
  const VU sum = hn::Add(bits, hn::Add(odd, hn::Set(d, (1u << (kDropped - 1)) - 1)));
  return hn::And(sum, hn::Set(d, ~((1u << kDropped) - 1)));
}
// Rounds a float to the nearest number of the format; the result is a float.
struct RoundBF16 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const hn::RebindToUnsigned<D> du;
    return hn::IfThenElse(hn::IsNaN(x), x, hn::BitCast(d, RoundBits<16>(du, hn::BitCast(du, x))));
  }
};
struct RoundF16 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    if constexpr (kConvertsF16)
      return hn::PromoteTo(d, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), x));
    const hn::RebindToUnsigned<D> du;
    const V magnitude = hn::Abs(x), half = hn::Set(d, 0.5f);
    const V normal = hn::BitCast(d, RoundBits<13>(du, hn::BitCast(du, magnitude)));
    // 65504 is the largest number of f16. Numbers that round to more become infinite.
    const V bounded = hn::IfThenElse(hn::Gt(normal, hn::Set(d, 65504.0f)),
                                     hn::Set(d, std::numeric_limits<float>::infinity()), normal);
    // Below 2^-14 the spacing of f16 is 2^-24, which is f32's spacing in [0.5, 1).
    const V small = hn::Sub(hn::Add(magnitude, half), half);
    const V rounded =
        hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 6.103515625e-5f)), small, bounded);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(rounded, x));
  }
};

// Conversions between f32 and the bits of the format, one number per lane of `d` (u32). Held: from
// the format's bits to the bits of the float. Stored: back, for a float that the format can
// represent. Rounded: back, for any float.
struct BrainFormat {
  using Element = hwy::bfloat16_t;  // Highway promotes it with one or two instructions
  using Round = RoundBF16;
  template <class D, class V>
  static HWY_INLINE V Held(D, V v) {
    return hn::ShiftLeft<16>(v);
  }
  template <class D, class V>
  static HWY_INLINE V Stored(D d, V v) {
    // The bits that are cut off may be the only ones that make it a NaN.
    const hn::Rebind<float, D> df;
    const auto nan = hn::RebindMask(d, hn::IsNaN(hn::BitCast(df, v)));
    const V quiet = hn::IfThenElseZero(nan, hn::Set(d, 0x40u));
    return hn::Or(hn::ShiftRight<16>(v), quiet);
  }
  template <class D, class V>
  static HWY_INLINE V Rounded(D d, V v) {
    const hn::Rebind<float, D> df;
    return Stored(d, hn::BitCast(d, Round::Call(df, hn::BitCast(df, v))));
  }
};
// The same algorithms as HalfToFloat and FloatToHalf of base/narrow_floats.h.
struct HalfFormat {
  using Element = hwy::float16_t;
  using Round = RoundF16;
  template <class D, class V>
  static HWY_INLINE V Held(D d, V v) {
    const hn::Rebind<float, D> df;
    const V body = hn::ShiftLeft<13>(hn::And(v, hn::Set(d, 0x7fffu)));
    const auto scaled = hn::Mul(hn::BitCast(df, body), hn::Set(df, 0x1p112f));
    const auto special = hn::Gt(body, hn::Set(d, 0x0f7fffffu));
    const V exponent = hn::IfThenElseZero(special, hn::Set(d, 0x7f800000u));
    const V sign = hn::ShiftLeft<16>(hn::And(v, hn::Set(d, 0x8000u)));
    return hn::Or(hn::Or(hn::BitCast(d, scaled), exponent), sign);
  }
  template <class D, class V>
  static HWY_INLINE V Stored(D d, V v) {
    return Bits</*kRounds=*/false>(d, v);
  }
  template <class D, class V>
  static HWY_INLINE V Rounded(D d, V v) {
    return Bits</*kRounds=*/true>(d, v);
  }

 private:
  // Rounds the bits in the stored format, which takes half as many instructions as rounding a
  // float first.
  template <bool kRounds, class D, class V>
  static HWY_INLINE V Bits(D d, V v) {
    const hn::Rebind<float, D> df;
    const V body = hn::And(v, hn::Set(d, 0x7fffffffu));
    const auto half = hn::Set(df, 0.5f);
    const V small =
        hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(df, body), half)), hn::BitCast(d, half));
    V digits = body;
    if constexpr (kRounds) digits = RoundBits<13>(d, body);
    const V normal = hn::ShiftRight<13>(hn::Sub(digits, hn::Set(d, 0x38000000u)));
    const auto nan = hn::Gt(body, hn::Set(d, 0x7f800000u));
    const V special = hn::IfThenElse(nan, hn::Set(d, 0x7e00u), hn::Set(d, 0x7c00u));
    const V number = hn::IfThenElse(hn::Lt(body, hn::Set(d, 0x38800000u)), small, normal);
    const auto infinite = hn::Gt(body, hn::Set(d, 0x477fefffu));  // 65520 and above
    const V all = hn::IfThenElse(infinite, special, number);
    return hn::Or(all, hn::And(hn::ShiftRight<16>(v), hn::Set(d, 0x8000u)));
  }
};

// Returns the numbers at `p` as floats, one per lane of `d`.
template <class Format, class D>
HWY_INLINE hn::Vec<D> LoadFloats(Format, D d, const uint16_t* p) {
  using T = typename Format::Element;
  if constexpr (std::is_same_v<T, hwy::float16_t> && !kConvertsF16) {
    const hn::RebindToUnsigned<D> du;
    const auto stored = hn::LoadU(hn::Rebind<uint16_t, D>(), p);
    return hn::BitCast(d, Format::Held(du, hn::PromoteTo(du, stored)));
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), reinterpret_cast<const T*>(p)));
  }
}
// Rounds the floats and stores them at `p`.
template <class Format, class D>
HWY_INLINE void StoreFloats(Format, D d, hn::Vec<D> v, uint16_t* p) {
  const hn::RebindToUnsigned<D> du;
  if constexpr (std::is_same_v<typename Format::Element, hwy::float16_t> && kConvertsF16) {
    const hn::Rebind<hwy::float16_t, D> d16;
    // the only NaN that is stored
    const auto nan = hn::CopySign(hn::BitCast(d, hn::Set(du, 0x7fc00000u)), v);
    const auto known = hn::IfThenElse(hn::IsNaN(v), nan, v);
    hn::StoreU(hn::DemoteTo(d16, known), d16, reinterpret_cast<hwy::float16_t*>(p));
  } else {
    const hn::Rebind<uint16_t, D> d16;
    hn::StoreU(hn::TruncateTo(d16, Format::Rounded(du, hn::BitCast(du, v))), d16, p);
  }
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard

// Vector functions of floats beyond arithmetic, compiled once per target.
#if defined(TESSERA_SIMD_MATH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_MATH_H_
#undef TESSERA_SIMD_MATH_H_
#else
#define TESSERA_SIMD_MATH_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include <cmath>

#include "kernels/fused/kernel_table.h"
#include "kernels/fused/simd_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// Returns (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2. It gives e^r a relative error of 1.1e-8. The
// coefficients interpolate at the Chebyshev nodes of 1.01 times that interval.
template <class D, class V>
HWY_INLINE V ExpTail(D d, V r) {
  V p = hn::Set(d, 0.0013926926613654082f);
  p = hn::MulAdd(p, r, hn::Set(d, 0.008363773874407265f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.04166655011030872f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.16666573381900845f));
  return hn::MulAdd(p, r, hn::Set(d, 0.5f));
}
template <class D, class V>
HWY_INLINE V ExpReduced(D d, V r) {
  return hn::MulAdd(ExpTail(d, r), hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
}

// Adding 1.5 * 2^23 rounds a number below 2^22 to a whole number n, whose bits are then the low
// bits of the sum. This shift also adds the exponent biases of the factors of 2^n.
template <int kFactors>
inline constexpr float kShift = 12582912.0f + 127.0f * kFactors;

// Returns 2^n for n in [-126, 127]; shifted = kShift<1> + n.
template <class D, class V>
HWY_INLINE V PowerOf2(D d, V shifted) {
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(BitsTag<D>(), shifted)));
}
// Returns p * 2^n for n in [-252, 252], where 2^n may overflow and the product does not; shifted =
// kShift<2> + n.
template <class D, class V>
HWY_INLINE V Scale(D d, V p, V shifted) {
#if HWY_TARGET == HWY_AVX3
  return V{_mm512_scalef_ps(p.raw, hn::Sub(shifted, hn::Set(d, kShift<2>)).raw)};
#else
  const BitsTag<D> bits;
  const auto all = hn::BitCast(bits, shifted), half = hn::ShiftRight<1>(all);
  const V a = PowerOf2(d, hn::BitCast(d, half)),
          b = PowerOf2(d, hn::BitCast(d, hn::Sub(all, half)));
  return hn::Mul(hn::Mul(p, a), b);
#endif
}

// Returns r with x = n ln(2) + r and the smallest |r|, for |x| below about 10^4; sets shifted =
// kShift + n.
template <int kFactors, class D, class V>
HWY_INLINE V Reduced(D d, V x, V& shifted) {
  const V shift = hn::Set(d, kShift<kFactors>);
  shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), shift);
  const V n = hn::Sub(shifted, shift);
  // ln(2) is split in two. The first part has so few bits that n times it is exact.
  const V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  return hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
}
// Returns e^x for x in [-110, 90], the range of f32.
template <class D, class V>
HWY_INLINE V ExpBounded(D d, V x) {
  V shifted;
  const V r = Reduced<2>(d, x, shifted);
  return Scale(d, ExpReduced(d, r), shifted);
}
// Keeps NaN: if one operand is NaN, the instructions of x86 return the second operand.
template <class D, class V>
HWY_INLINE V AtLeast(D d, V x, hn::TFromD<D> least) {
  return hn::Max(hn::Set(d, least), x);
}
template <class D, class V>
HWY_INLINE V AtMost(D d, V x, hn::TFromD<D> most) {
  return hn::Min(hn::Set(d, most), x);
}
template <class D, class V>
HWY_INLINE V Bound(D d, V x, hn::TFromD<D> least, hn::TFromD<D> most) {
  return AtMost(d, AtLeast(d, x, least), most);
}

struct ExpF32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    return ExpBounded(d, Bound(d, x, -110, 90));
  }
};
struct Exp2F32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const V bounded = Bound(d, x, -160, 130), shift = hn::Set(d, kShift<2>);
    const V shifted = hn::Add(bounded, shift), n = hn::Sub(shifted, shift);
    const V r = hn::Mul(hn::Sub(bounded, n), hn::Set(d, 0.693147180559945309f));
    return Scale(d, ExpReduced(d, r), shifted);
  }
};

// Returns n / x for finite x in [1, 2^126].
template <class V>
HWY_INLINE V Quotient(V n, V x) {
#if HWY_TARGET == HWY_AVX3
  // An estimate of 14 bits and a Newton step are faster than division here, and differ at most in
  // the last bit.
  const V r = V{_mm512_rcp14_ps(x.raw)}, q = hn::Mul(n, r);
  return hn::MulAdd(hn::NegMulAdd(q, x, n), r, q);
#else
  return hn::Div(n, x);
#endif
}

// Computes 1 / (1 + e^-x), and e^x / (1 + e^x) for negative x, so that small results keep
// their digits.
struct LogisticF32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const V one = hn::Set(d, 1.0f);
    const V e = ExpBounded(d, AtLeast(d, hn::Or(x, hn::SignBit(d)), -110.0f));
    const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
    return Quotient(numerator, hn::Add(one, e));
  }
};

// Computes u / (u + 2) with u = e^2|x| - 1, so that small results keep their digits. From 9.02 on
// it is 1.
struct TanhF32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const V bounded = AtMost(d, hn::Abs(x), 10.0f);
    V shifted;
    const V r = Reduced<1>(d, hn::Add(bounded, bounded), shifted), power = PowerOf2(d, shifted);
    const V q = hn::MulAdd(ExpTail(d, r), hn::Mul(r, r), r);  // e^r - 1
    const V u = hn::MulAdd(q, power, hn::Sub(power, hn::Set(d, 1.0f)));
    return hn::CopySign(Quotient(u, hn::Add(u, hn::Set(d, 2.0f))), x);
  }
};

// Returns the logarithm of a positive normal number. The error is 1e-7, absolute or relative,
// whichever is larger. For the mantissa, in [sqrt(1/2), sqrt(2)), it is the polynomial of Cephes
// (S. Moshier).
template <class D, class V>
HWY_INLINE V LogNormal(D d, V x) {
  const SignedTag<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const V r = hn::Sub(m, hn::Set(d, 1.0f)), z = hn::Mul(r, r);
  V p = hn::Set(d, 7.0376836292e-2f);
  for (float c : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                  -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f})
    p = hn::MulAdd(p, r, hn::Set(d, c));
  const V fraction = hn::MulAdd(hn::Mul(z, r), p, hn::NegMulAdd(hn::Set(d, 0.5f), z, r));
  return hn::MulAdd(hn::ConvertTo(d, e), hn::Set(d, 0.693147180559945309f), fraction);
}

// erf_inv(x) / x is a function of w = -log(1 - x^2), as in M. Giles, "Approximating the erfinv
// function", 2010: a polynomial in w - 2.5 for w < 5, and in sqrt(w) - 3 above, each with a
// relative error of 1.2e-8. The coefficients interpolate at Chebyshev nodes.
struct ErfInvF32 {
  template <class D, class V>
  static HWY_INLINE V Polynomial(D d, V t, const float (&c)[10]) {
    V p = hn::Set(d, c[9]);
    for (size_t k = 9; k-- > 0;) p = hn::MulAdd(p, t, hn::Set(d, c[k]));
    return p;
  }
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    static constexpr float kCentral[10] = {1.5014093607283543f,     0.24664027984618765f,
                                           -0.0041773946153249159f, -0.0012527285074774643f,
                                           0.00021835103004106721f, -4.9709564851209545e-6f,
                                           -3.4644700534458021e-6f, 4.6776738307859973e-7f,
                                           2.337982917006631e-8f,   -8.9023864070023384e-9f};
    static constexpr float kTail[10] = {2.832976801527722f,       1.0016749291575569f,
                                        0.0094453007720517775f,   -0.0076368159069068911f,
                                        0.0056865831714959784f,   -0.0035988129596869627f,
                                        0.0014868313122830006f,   -5.5968421729019319e-5f,
                                        -0.00031156464176062834f, 0.00011649721618513021f};
    const V one = hn::Set(d, 1.0f), magnitude = hn::Abs(x);
    const V w = hn::Neg(LogNormal(d, hn::Mul(hn::Sub(one, magnitude), hn::Add(one, magnitude))));
    V p = Polynomial(d, hn::Sub(w, hn::Set(d, 2.5f)), kCentral);
    const auto tail = hn::Ge(w, hn::Set(d, 5.0f));
    if (HWY_UNLIKELY(!hn::AllFalse(d, tail)))
      p = hn::IfThenElse(tail, Polynomial(d, hn::Sub(hn::Sqrt(w), hn::Set(d, 3.0f)), kTail), p);
    const V end = hn::IfThenElse(hn::Eq(magnitude, one), hn::Inf(d), hn::NaN(d));
    return hn::IfThenElse(hn::Lt(magnitude, one), hn::Mul(p, x), hn::CopySign(end, x));
  }
};

// The same for f64 with relative errors of 2e-17, in three ranges: below 6.25, below 16, and above.
// The logarithm is accurate to a few units, a tenth of which reaches the result.
struct ErfInvF64 {
  template <size_t n, class D, class V>
  static HWY_INLINE V Polynomial(D d, V t, const double (&c)[n]) {
    V p = hn::Set(d, c[n - 1]);
    for (size_t k = n - 1; k-- > 0;) p = hn::MulAdd(p, t, hn::Set(d, c[k]));
    return p;
  }
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    static constexpr double kCentral[26] = {
        1.6536545626831027,      0.2401581824255883,     -0.00603367087142691,
        -0.0007407025341544378,  0.00018673420802010226, -1.388252339461183e-05,
        -1.3654691764333953e-06, 4.23478817787613e-07,   -2.9070390727844854e-08,
        -4.1126612335409915e-09, 1.0512230578847947e-09, -5.414262718983126e-11,
        -1.2978687469990686e-11, 2.6303919752019746e-12, -8.074793212658035e-14,
        -3.998992229246541e-14,  6.5259856262881856e-15, -4.395159038924876e-17,
        -1.226549613562663e-16,  1.5969840582480285e-17, 6.413949991241129e-19,
        -3.7696815391061275e-19, 1.8669198978367763e-20, 4.299260453027307e-21,
        -3.367090806942805e-22,  -1.8140033003989204e-23};
    static constexpr double kMiddle[21] = {
        3.0838856104922208,      1.0052589676941655,      0.005370914553555038,
        -0.003751208508226134,   0.002491442097956369,    -0.0016882755354017892,
        0.0009532893415996109,   -0.00035503781450037415, 2.403151255480885e-05,
        6.828712324916202e-05,   -4.7320678089995545e-05, 1.2465000170695137e-05,
        2.9325659978647045e-06,  -3.985625035501172e-06,  1.4816340243701067e-06,
        -2.775537747087451e-08,  -2.4556055874210033e-07, 1.317153714762345e-07,
        -2.0856053300518907e-08, -1.535574832139326e-08,  7.657191069255301e-09};
    static constexpr double kTail[19] = {
        4.849906401408584,       1.0103004648645455,     -0.00013871931837346885,
        -0.00021503011983348678, 7.599527792013122e-05,  -1.968177062851429e-05,
        4.526054317421537e-06,   -9.930298007956182e-07, 2.2904374962265896e-07,
        -6.755489113801392e-08,  2.9044366035593786e-08, -1.5257428869296487e-08,
        7.778675939216961e-09,   -3.468872956511346e-09, 1.3573798477653938e-09,
        -4.389235436989159e-10,  4.797976124019923e-11,  4.317958157669737e-11,
        -1.5700200176116288e-11};
    const V one = hn::Set(d, 1.0), magnitude = hn::Abs(x);
    const auto inside = hn::Lt(magnitude, one);
    const V rest = hn::Mul(hn::Sub(one, magnitude), hn::Add(one, magnitude));
    const V w = hn::Neg(hn::Log(d, hn::IfThenElse(inside, rest, one)));
    V p = Polynomial(d, hn::Sub(w, hn::Set(d, 3.125)), kCentral);
    const auto middle = hn::Ge(w, hn::Set(d, 6.25)), tail = hn::Ge(w, hn::Set(d, 16.0));
    if (HWY_UNLIKELY(!hn::AllFalse(d, middle))) {
      const V root = hn::Sqrt(w);
      p = hn::IfThenElse(middle, Polynomial(d, hn::Sub(root, hn::Set(d, 3.25)), kMiddle), p);
      p = hn::IfThenElse(tail, Polynomial(d, hn::Sub(root, hn::Set(d, 5.0)), kTail), p);
    }
    const V end = hn::IfThenElse(hn::Eq(magnitude, one), hn::Inf(d), hn::NaN(d));
    return hn::IfThenElse(inside, hn::Mul(p, x), hn::CopySign(end, x));
  }
};

template <class T, class F>
void PlainBlock(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  const Tag<T> d;
  T* p = reinterpret_cast<T*>(acc);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    hn::StoreU(F::Call(d, hn::LoadU(d, p + i)), d, p + i);
}

// Computes again, by `slow`, the elements of a block for which the vector function is not accurate
// enough: special values, large arguments, results with few correct digits.
template <class T, class F>
void MathBlock(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  const Tag<T> d;
  T* p = reinterpret_cast<T*>(acc);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, p + i);
    const auto y = F::Call(d, x);
    const auto good = F::Good(d, x, y);
    if (HWY_LIKELY(hn::AllTrue(d, good))) {
      hn::StoreU(y, d, p + i);
      continue;
    }
    HWY_ALIGN T old[hn::MaxLanes(Tag<T>())];
    HWY_ALIGN T bad[hn::MaxLanes(Tag<T>())];
    hn::Store(x, d, old);
    hn::Store(hn::IfThenElse(good, hn::Zero(d), hn::Set(d, T{1})), d, bad);
    hn::StoreU(y, d, p + i);
    for (size_t k = 0; k < hn::Lanes(d) && i + k < n; ++k)
      if (bad[k] != 0) p[i + k] = F::Slow(old[k]);
  }
}

// A function of Highway's contrib/math for x in the open interval (Low, High) of the type.
// `keeps_zero`: f(-0) = -0, which Highway does not give.
#define TESSERA_VECTOR_MATH(Name, Function, slow, keeps_zero, Interval)     \
  struct Name {                                                             \
    template <class D, class V>                                             \
    static HWY_INLINE auto Good(D d, V x, V) {                              \
      using T = hn::TFromD<D>;                                              \
      return hn::And(hn::Gt(x, hn::Set(d, Interval<T>::kLow)),              \
                     hn::Lt(x, hn::Set(d, Interval<T>::kHigh)));            \
    }                                                                       \
    template <class D, class V>                                             \
    static HWY_INLINE V Call(D d, V x) {                                    \
      const V y = hn::Function(d, x);                                       \
      return keeps_zero ? hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y) : y; \
    }                                                                       \
    template <class T>                                                      \
    static T Slow(T x) {                                                    \
      return std::slow(x);                                                  \
    }                                                                       \
  }

template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
struct Finite {
  static constexpr T kLow = -kInf<T>, kHigh = kInf<T>;
};
template <class T>
struct Positive {
  static constexpr T kLow = 0, kHigh = kInf<T>;
};
template <class T>
struct AboveMinusOne {
  static constexpr T kLow = -1, kHigh = kInf<T>;
};
template <class T>
struct AboveOne {
  static constexpr T kLow = 1, kHigh = kInf<T>;
};
template <class T>
struct UnitBall {
  static constexpr T kLow = -1, kHigh = 1;
};
template <class T>
struct Turns {
  static constexpr T kLow = -1000, kHigh = 1000;
};
template <class T>
struct SinhRange {
  static constexpr T kHigh = sizeof(T) == 4 ? 88 : 700, kLow = -kHigh;
};
template <class T>
struct Expm1Range {
  static constexpr T kLow = -kInf<T>, kHigh = SinhRange<T>::kHigh;
};

TESSERA_VECTOR_MATH(VecExpm1, Expm1, expm1, true, Expm1Range);
TESSERA_VECTOR_MATH(VecLog, Log, log, false, Positive);
TESSERA_VECTOR_MATH(VecLog1p, Log1p, log1p, false, AboveMinusOne);
TESSERA_VECTOR_MATH(VecSin, Sin, sin, true, Turns);
TESSERA_VECTOR_MATH(VecCos, Cos, cos, false, Turns);
TESSERA_VECTOR_MATH(VecAsin, Asin, asin, false, Finite);
TESSERA_VECTOR_MATH(VecAcos, Acos, acos, false, Finite);
TESSERA_VECTOR_MATH(VecAtan, Atan, atan, false, Finite);
TESSERA_VECTOR_MATH(VecSinh, Sinh, sinh, false, SinhRange);
TESSERA_VECTOR_MATH(VecTanh, Tanh, tanh, false, Finite);
TESSERA_VECTOR_MATH(VecAsinh, Asinh, asinh, false, Finite);
TESSERA_VECTOR_MATH(VecAcosh, Acosh, acosh, false, AboveOne);
TESSERA_VECTOR_MATH(VecAtanh, Atanh, atanh, false, UnitBall);

// Highway's Exp scales by 2^n in two steps without a check, so it wraps for |n| above about 2000.
// From |x| = 1000 on the result is 0 or infinite anyway.
struct ExpF64 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const V y = hn::Exp(d, Bound(d, x, -1000, 1000));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};
struct LogisticF64 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const V one = hn::Set(d, 1.0), e = ExpF64::Call(d, hn::Neg(hn::Abs(x)));
    const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
    return hn::Div(numerator, hn::Add(one, e));
  }
};

template <class T, class F>
void AddMath(KernelTable& t, plan::ScalarOp op) {
  t.vector_math[static_cast<int>(LaneOf<T>())][CodeOf(op)] = &MathBlock<T, F>;
}
template <class T>
void AddVectorMath(KernelTable& t) {
  using enum plan::ScalarOp;
  AddMath<T, VecExpm1>(t, kExpm1);
  AddMath<T, VecLog>(t, kLog);
  AddMath<T, VecLog1p>(t, kLog1p);
  AddMath<T, VecSin>(t, kSin);
  AddMath<T, VecCos>(t, kCos);
  AddMath<T, VecAsin>(t, kAsin);
  AddMath<T, VecAcos>(t, kAcos);
  AddMath<T, VecAtan>(t, kAtan);
  AddMath<T, VecSinh>(t, kSinh);
  AddMath<T, VecAsinh>(t, kAsinh);
  AddMath<T, VecAcosh>(t, kAcosh);
  AddMath<T, VecAtanh>(t, kAtanh);
}

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard

// The error function and its complement in f32, compiled once per target.
#if defined(TESSERA_SIMD_ERF_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_ERF_H_
#undef TESSERA_SIMD_ERF_H_
#else
#define TESSERA_SIMD_ERF_H_
#endif

#include "kernels/fused/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

template <size_t n, class D, class V>
HWY_INLINE V PolynomialF32(D d, V x, const float (&c)[n]) {
  V p = hn::Set(d, c[n - 1]);
  for (size_t k = n - 1; k-- > 0;) p = hn::MulAdd(p, x, hn::Set(d, c[k]));
  return p;
}

// The polynomials in this file are minimax approximations by Remez's algorithm.

// Returns erf(x) / x - 1 for |x| <= 1, which gives erf(x) a relative error of 1.2e-9.
template <class D, class V>
HWY_INLINE V ErfNearZero(D d, V x) {
  static constexpr float kTerms[] = {
      0.12837916612625122f,  -0.3761262595653534f,    0.1128358542919159f,   -0.026853816583752632f,
      0.005188335198909044f, -0.0008010243764147162f, 7.853987335693091e-05f};
  return PolynomialF32(d, hn::Mul(x, x), kTerms);
}

// Above 1, erf is 1 - e^p(|x|), where p approximates log(erfc) with an error of 1e-9. From 3.92 on
// it is 1.
struct ErfF32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    static constexpr float kTerms[] = {-0.0003537723678164184f, -1.1270397901535034f,
                                       -0.6382260918617249f,    -0.10303698480129242f,
                                       0.02180512435734272f,    -0.0029395567253232002f,
                                       0.00018556868599262089f};
    const V one = hn::Set(d, 1.0f), magnitude = hn::Abs(x);
    const V small = hn::MulAdd(ErfNearZero(d, x), x, x);
    V shifted;
    const V r = Reduced<1>(d, PolynomialF32(d, AtMost(d, magnitude, 3.95f), kTerms), shifted);
    const V rest = hn::Mul(ExpReduced(d, r), PowerOf2(d, shifted));
    return hn::IfThenElse(hn::Lt(magnitude, one), small, hn::CopySign(hn::Sub(one, rest), x));
  }
};

// From kSmall on, erfc is e^-x^2 p(u) u with u = 1 / (|x| + 1.25), where p has a relative error of
// 2.2e-9. From 10.06 on it is 0.
struct ErfcF32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const V one = hn::Set(d, 1.0f), magnitude = hn::Abs(x);
    const V small = hn::NegMulAdd(ErfNearZero(d, x), x, hn::Sub(one, x));
    const V tail = Tail(d, AtMost(d, magnitude, 10.5f));
    const V large = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 2.0f), tail), tail);
    return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, kSmall)), small, large);
  }

 private:
  static constexpr float kSmall = 0.84375f;

  // For a in [kSmall, 10.5]. The rounding errors of a^2 and of the divisor are added to the
  // exponent once its multiple of ln(2) has been removed. The upper half of a's digits has an exact
  // square, so a^2 is split there.
  template <class D, class V>
  static HWY_INLINE V Tail(D d, V a) {
    static constexpr float kTerms[] = {
        0.5641980171203613f,   0.704823911190033f,   0.608121395111084f, -0.057950668036937714f,
        -0.10644088685512543f, -4.4883246421813965f, 9.761371612548828f, -7.541373252868652f,
        0.9226170778274536f,   1.1177936792373657f};
    const V add = hn::Set(d, 1.25f), divisor = hn::Add(a, add);
    const V u = Quotient(hn::Set(d, 1.0f), divisor);
    const V q = Quotient(PolynomialF32(d, u, kTerms), divisor);

    const BitsTag<D> bits;
    const V high = hn::BitCast(d, hn::And(hn::BitCast(bits, a), hn::Set(bits, 0xfffff000u)));
    const V low = hn::Mul(hn::Sub(a, high), hn::Add(a, high));
    const V rest = hn::MulAdd(hn::Sub(a, hn::Sub(divisor, add)), u, low);
    const V shift = hn::Set(d, kShift<2>);
    const V shifted = hn::NegMulAdd(hn::Mul(a, a), hn::Set(d, 1.44269504088896341f), shift);
    const V n = hn::Sub(shifted, shift);
    V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), hn::Neg(hn::Mul(high, high)));
    r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), hn::Sub(r, rest));
    const V y = hn::MulAdd(ExpTail(d, r), hn::Mul(r, r), r);  // e^r - 1
    return Scale(d, hn::MulAdd(q, y, q), shifted);
  }
};

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard

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

#if HWY_TARGET == HWY_AVX3
// Returns erf by the interval of |x|: 16 intervals of width 33/128 around the multiples of 33/128.
// One register holds a coefficient of all intervals; a permutation looks up those of 16 lanes. In
// the first four intervals the polynomial approximates erf(x) - x, in the others erf(x). From 3.92
// on the result is 1. The error is at most 1 ulp.
template <class D, class V>
HWY_INLINE V ErfByInterval(D d, V x) {
  static constexpr float kWidth = 33.0f / 128;
  alignas(64) static constexpr float kOwn[16] = {1, 1, 1, 1};
  alignas(64) static constexpr float kTerms[6][16] = {
      {0.0f, 0.026778923347592354f, 0.018498027697205544f, -0.047477662563323975f,
       0.8552718162536621f, 0.9316980838775635f, 0.9713020920753479f, 0.9892958998680115f,
       0.9964637756347656f, 0.9989671111106873f, 0.9997336864471436f, 0.9999394416809082f,
       0.9999878406524658f, 0.9999978542327881f, 0.9999996423721313f, 0.9999999403953552f},
      {0.12837916612625122f, 0.05581718310713768f, -0.13505281507968903f, -0.37962013483047485f,
       0.3895767629146576f, 0.21418827772140503f, 0.10310163348913193f, 0.04345129057765007f,
       0.016032714396715164f, 0.005179390776902437f, 0.0014649322256445885f,
       0.00036276355967856944f, 7.864968938520178e-05f, 1.4929237295291387e-05f,
       2.481107003404759e-06f, 3.610111320995202e-07f},
      {2.955059699161211e-07f, -0.27219656109809875f, -0.4459807872772217f, -0.4798213541507721f,
       -0.4017546772956848f, -0.2761093080043793f, -0.15948684513568878f, -0.07841198146343231f,
       -0.03307870402932167f, -0.012007663957774639f, -0.003785770619288087f,
       -0.0010289709316566586f, -0.00023018174397293478f, -4.692466609412804e-05f,
       2.8867618766525993e-06f, 5.182598670216976e-06f},
      {-0.37614238262176514f, -0.30517667531967163f, -0.13502295315265656f, 0.04060901701450348f,
       0.14634482562541962f, 0.16587622463703156f, 0.1301034539937973f, 0.07986141741275787f,
       0.04012373834848404f, 0.016863616183400154f, 0.006002931855618954f, 0.0018240115605294704f,
       0.0004755962872877717f, 0.00010680784180294722f, 2.0716775907203555e-05f,
       3.4778004192048684e-06f},
      {0.0002957515825983137f, 0.1290503740310669f, 0.18224622309207916f, 0.14364348351955414f,
       0.05880267545580864f, -0.014082719571888447f, -0.047086894512176514f, -0.04604962095618248f,
       -0.029699789360165596f, -0.016214078292250633f, -0.005985024850815535f,
       -0.002253522863611579f, -0.001445853034965694f, -0.00035040281363762915f,
       -0.0007403856725431979f, -0.000398214440792799f},
      {0.11092884838581085f, 0.07894650101661682f, 0.003537360578775406f, -0.056094054132699966f,
       -0.06773336976766586f, -0.04191009700298309f, -0.009832550771534443f, 0.009039544500410557f,
       0.012950754724442959f, 0.009375094436109066f, 0.004897714592516422f, 0.0020130332559347153f,
       0.0006747402949258685f, 0.00018840335542336106f, 4.432010246091522e-05f,
       8.853821782395244e-06f}};
  const V magnitude = AtMost(d, hn::Abs(x), 3.99f), shift = hn::Set(d, 8388608.0f);
  // The low bits of the sum are the number of the interval.
  const V sum = hn::MulAdd(magnitude, hn::Set(d, 1 / kWidth), shift);
  const V r = hn::NegMulAdd(hn::Sub(sum, shift), hn::Set(d, kWidth), magnitude);
  const auto look_up = [&](const float* terms) HWY_ATTR {
    return V{_mm512_permutexvar_ps(_mm512_castps_si512(sum.raw), _mm512_load_ps(terms))};
  };
  V p = look_up(kTerms[5]);
  for (size_t k = 5; k-- > 0;) p = hn::MulAdd(p, r, look_up(kTerms[k]));
  return hn::CopySign(hn::MulAdd(magnitude, look_up(kOwn), p), x);
}
#endif

// Above 1, erf is 1 - e^p(|x|), where p approximates log(erfc) with an error of 1e-9. From 3.92 on
// it is 1.
struct ErfF32 {
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
#if HWY_TARGET == HWY_AVX3
    if constexpr (sizeof(V) == 64) return ErfByInterval(d, x);
#endif
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

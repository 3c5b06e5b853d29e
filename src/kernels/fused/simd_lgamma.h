// log |gamma| of f32 in f64 arithmetic, because its terms cancel. Compiled once per target.
#if defined(TESSERA_SIMD_LGAMMA_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_LGAMMA_H_
#undef TESSERA_SIMD_LGAMMA_H_
#else
#define TESSERA_SIMD_LGAMMA_H_
#endif

#include "kernels/fused/simd_math.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::HWY_NAMESPACE {

// The polynomials are minimax approximations by Remez's algorithm.
struct LgammaF32 {
  // Below zero log |gamma| is a difference, which has few correct digits where it is almost 0.
  template <class D, class V>
  static HWY_INLINE auto Good(D d, V x, V y) {
    return hn::Not(hn::And(hn::Lt(x, hn::Zero(d)), hn::Lt(hn::Abs(y), hn::Set(d, 0x1p-10f))));
  }
  template <class D, class V>
  static HWY_INLINE V Call(D d, V x) {
    const hn::Half<D> half;
    const hn::Rebind<double, hn::Half<D>> wide;
    const auto low = Wide(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x)));
    const auto high = Wide(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x)));
    return hn::Combine(d, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
  }
  static float Slow(float x) {
    int sign;  // lgamma itself writes a global variable
    return static_cast<float>(lgamma_r(x, &sign));
  }

 private:
  template <class D, class V, size_t n>
  static HWY_INLINE V Polynomial(D d, V x, const double (&c)[n]) {
    V p = hn::Set(d, c[n - 1]);
    for (size_t k = n - 1; k-- > 0;) p = hn::MulAdd(p, x, hn::Set(d, c[k]));
    return p;
  }

  // Returns the logarithm of a normal number as 2 atanh((m - 1) / (m + 1)) with m in [sqrt(1/2),
  // sqrt(2)). The relative error is about 3e-16.
  template <class D, class V>
  static HWY_INLINE V Log(D d, V x) {
    static constexpr double kTerms[] = {
        0.666666666666666973, 0.399999999998985089, 0.285714286263706299, 0.222222110774591011,
        0.181828928848378195, 0.153316079980564829, 0.146177367900730009};
    constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
    const BitsTag<D> du;
    const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, kOne - kRootOfHalf));
    const auto digits = hn::And(bits, hn::Set(du, (uint64_t{1} << 52) - 1));
    const V m = hn::BitCast(d, hn::Add(digits, hn::Set(du, kRootOfHalf)));
    // The exponent with its bias of 1023 in the low bits of 2^52 + exponent.
    const auto exponent = hn::Or(hn::ShiftRight<52>(bits), hn::Set(du, 0x4330000000000000));
    const V e = hn::Sub(hn::BitCast(d, exponent), hn::Set(d, 0x1p52 + 1023));
    const V f = hn::Sub(m, hn::Set(d, 1.0)), s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
    const V square = hn::Mul(s, s), p = Polynomial(d, square, kTerms);
    const V log = hn::MulAdd(hn::Mul(square, p), s, hn::Add(s, s));
    return hn::MulAdd(e, hn::Set(d, 0.693147180559945309), log);
  }

  // For t in [0, 2.5): lgamma(2 + z) - log(t (t + 1) ...) with |z| <= 1/2, where lgamma(2 + z) / z
  // has a relative error of 6e-15.
  template <class D, class V>
  static HWY_INLINE V Small(D d, V t) {
    static constexpr double kTerms[] = {
        0.422784335098468694,     0.322467033424175729,      -0.0673523010538358768,
        0.020580808418334784,     -0.00738555098523596176,   0.00289051074186171146,
        -0.0011927550422431639,   0.000509661678409516375,   -0.000223140343853710046,
        0.0000995339140295460919, -0.0000450251606509438555, 0.0000201126913045417087,
        -9.07046475304995347e-6,  5.38968161093530265e-6,    -2.7265184715561793e-6};
    const V one = hn::Set(d, 1.0), whole = hn::Round(hn::Min(t, hn::Set(d, 2.0)));
    const V z = hn::Sub(t, whole);
    const V next = hn::IfThenElse(hn::Lt(whole, one), hn::Add(t, one), one);
    const V product = hn::IfThenElse(hn::Gt(whole, one), one, hn::Mul(t, next));
    return hn::MulSub(z, Polynomial(d, z, kTerms), Log(d, product));
  }
  // For t >= 2.5: Stirling's formula, whose remainder times t has an error of 1.4e-14.
  template <class D, class V>
  static HWY_INLINE V Large(D d, V t) {
    static constexpr double kTerms[] = {
        0.0833333333333190005,    -0.00277777776208852213, 0.000793647954926650669,
        -0.000595037697809487685, 0.000834473564178593652, -0.00176151679394443582,
        0.00424783801752106099,   -0.00828933885982343117, 0.00839981084529976785};
    const V u = hn::Div(hn::Set(d, 1.0), t), rest = Polynomial(d, hn::Mul(u, u), kTerms);
    const V main = hn::MulSub(hn::Sub(t, hn::Set(d, 0.5)), Log(d, t), t);
    return hn::Add(main, hn::MulAdd(rest, u, hn::Set(d, 0.918938533204672742)));
  }
  // Returns log(pi / (t |sin(pi t)|)), the sum of lgamma(t) and lgamma(-t).
  template <class D, class V>
  static HWY_INLINE V Both(D d, V t) {
    static constexpr double kTerms[] = {3.14159265358979279,    -5.16771278004975258,
                                        2.55016403985977725,    -0.59926452877573408,
                                        0.0821458782568398687,  -0.00737036107341455515,
                                        0.00046597762216976144, -0.0000211229589624400408};
    const V r = hn::Abs(hn::Sub(t, hn::Round(t)));
    const V sine = hn::Mul(r, Polynomial(d, hn::Mul(r, r), kTerms));
    const V sum = hn::Sub(hn::Set(d, 1.14472988584940017), Log(d, hn::Mul(t, sine)));
    return hn::IfThenElse(hn::Eq(r, hn::Zero(d)), hn::Inf(d), sum);
  }

  template <class D, class V>
  static HWY_INLINE V Wide(D d, V x) {
    // From 1e40 on the result is infinite in f32.
    const V t = AtMost(d, hn::Abs(x), 1e40), limit = hn::Set(d, 2.5);
    const auto small = hn::Lt(t, limit);
    V y = hn::Zero(d);
    if (!hn::AllTrue(d, small)) y = Large(d, hn::Max(limit, t));
    if (!hn::AllFalse(d, small)) y = hn::IfThenElse(small, Small(d, t), y);
    const auto negative = hn::Lt(x, hn::Zero(d));
    if (!hn::AllFalse(d, negative)) y = hn::IfThenElse(negative, hn::Sub(Both(d, t), y), y);
    return hn::IfThenElse(hn::Eq(t, hn::Zero(d)), hn::Inf(d), y);
  }
};

}  // namespace tessera::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggled guard

// The table of functions without a vector form, which run as plain loops over libm.
#include "kernels/fused/scalar_functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "base/at.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/fused/incomplete_gamma.h"

namespace tessera::kernels {
namespace {

using plan::ScalarOp;

// A type with more digits than T, for functions whose terms cancel.
template <class T>
using Wider = std::conditional_t<sizeof(T) == 4, double, long double>;

// Returns the sum of (q + k)^-s over k >= 0, for q > 0 and s > 1: nine terms directly, and the rest
// by the Euler-Maclaurin formula, as in Cephes (S. Moshier).
template <class Real>
Real ZetaSeries(Real s, Real q) {
  constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon();
  Real sum = 0;
  for (int k = 0; k < 9; ++k, q += 1) {
    const Real term = std::pow(q, -s);
    sum += term;
    if (term <= kEpsilon * sum) return sum;
  }
  // (2k)! / B_2k
  constexpr Real kDivisors[] = {12.0L,
                                -720.0L,
                                30240.0L,
                                -1209600.0L,
                                47900160.0L,
                                -1307674368000.0L / 691,
                                74724249600.0L,
                                -10670622842880000.0L / 3617,
                                5109094217170944000.0L / 43867,
                                -802857662698291200000.0L / 174611,
                                14101100039391805440000.0L / 77683,
                                -1693824136731743669452800000.0L / 236364091};
  Real power = std::pow(q, -s), factor = s;
  sum += power * q / (s - 1) + power / 2;
  power /= q;
  for (int k = 0; k < 12; ++k) {
    const Real term = factor * power / kDivisors[k];
    sum += term;
    if (std::fabs(term) <= kEpsilon * sum) break;
    factor *= (s + (2 * k + 1)) * (s + (2 * k + 2));
    power /= q * q;
  }
  return sum;
}

// Hurwitz zeta. At the poles it is infinite for even s. JAX also sums only nine terms below
// zero, so JAX is wrong for q < -8; and where s or q is infinite JAX gives NaN, and this
// function the limit.
template <class Real>
Real Zeta(Real s, Real q) {
  constexpr Real kNaN = std::numeric_limits<Real>::quiet_NaN();
  constexpr Real kInf = std::numeric_limits<Real>::infinity();
  const Real parity = std::fabs(std::fmod(s, Real{2}));
  if (s == 1) return kInf;
  if (q <= 0 && q == std::floor(q)) return parity == 0 ? kInf : kNaN;
  if (s < 1) return kNaN;
  if (!(q < 0)) return ZetaSeries(s, q);
  if (parity != 0 && parity != 1) return kNaN;
  // The terms with a negative base mirror terms with a positive base, from the smallest one up to
  // those below 1 - q.
  const Real above = q - std::floor(q), below = std::ceil(q) - q;
  const Real up = ZetaSeries(s, above), down = ZetaSeries(s, below), rest = ZetaSeries(s, 1 - q);
  if (parity == 0) return up + (down - rest);
  if (above == below) return rest;
  // If both overflow, the term whose base is nearest to 0 decides the sign.
  if (std::isinf(up) && std::isinf(down)) return std::copysign(kInf, below - above);
  return up - down + rest;
}

// Coefficients of Chebyshev polynomials: e^-x I_0(x) and e^-x I_1(x) / x on [0, 8] in x / 4 - 1,
// and e^-x sqrt(x) I_n(x) on [8, inf] in 16 / x - 1. The intervals are those of Cephes (S.
// Moshier); the coefficients are computed to 20 digits.
constexpr long double kI0Small[] = {
    3.383976372047380425e-1L,    -3.0468267234319839868e-1L,  1.7162090152220877535e-1L,
    -9.4901097048047644421e-2L,  4.9305284239670708488e-2L,   -2.3737414805899468816e-2L,
    1.0546460394594998318e-2L,   -4.3243099950505759443e-3L,  1.6394756169413357984e-3L,
    -5.7637557453858236588e-4L,  1.8850288509584165573e-4L,   -5.754195010082103704e-5L,
    1.6448448070728897089e-5L,   -4.4167383584587505636e-6L,  1.1173875391201037182e-6L,
    -2.6707938539406117339e-7L,  6.0469950225419189493e-8L,   -1.3000250099862480421e-8L,
    2.6598237246823866503e-9L,   -5.1897956016352629067e-10L, 9.6758090353732369122e-11L,
    -1.7268262914415557072e-11L, 2.9550526631296398346e-12L,  -4.8564467831119294609e-13L,
    7.6761854986049356169e-14L,  -1.1685332877993451681e-14L, 1.7153912855551330306e-15L,
    -2.4312798465479546936e-16L, 3.3307945188222380978e-17L,  -4.4153416464793393795e-18L,
    5.6691780069214961571e-19L,  -7.0571006924572933671e-20L, 8.5245494181287008141e-21L};
constexpr long double kI0Large[] = {
    4.022452055070544158e-1L,    3.3691164782556940899e-3L,   6.8897583469168239843e-5L,
    2.891370520834756483e-6L,    2.0489185894690637418e-7L,   2.2666689904981780646e-8L,
    3.3962320257083863452e-9L,   4.9406023882249695891e-10L,  1.1889147107846438342e-11L,
    -3.1499165279632413645e-11L, -1.3215811840447713119e-11L, -1.7941785315068061178e-12L,
    7.1801244513836662337e-13L,  3.8527783827421427011e-13L,  1.5400862175214098269e-14L,
    -4.1505693472872220866e-14L, -9.5548466988283076487e-15L, 3.8116806693526224207e-15L,
    1.7725601330565263836e-15L,  -3.4254856196772191346e-16L, -2.8276239805165834849e-16L,
    3.4612228676974610931e-17L,  4.465621420296759999e-17L,   -4.8305044859441820713e-18L,
    -7.2331804878747539546e-18L, 9.9214754121736985989e-19L,  1.1936508908459820855e-18L,
    -2.4887098371508072357e-19L, -1.938426454160905929e-19L,  6.4446566973734438688e-20L,
    2.8860515962892243265e-20L,  -1.6019549071749718071e-20L};
constexpr long double kI1Small[] = {
    1.2629359322181682741e-1L,   -1.7641651835783405515e-1L,  1.0264365868984709538e-1L,
    -5.2945981208094991427e-2L,  2.4726449030626516828e-2L,   -1.0564084894626198156e-2L,
    4.1564229443128881567e-3L,   -1.513572450631253149e-3L,   5.122859561685757729e-4L,
    -1.6176081582589674559e-4L,  4.7815651075500542264e-5L,   -1.3273163656039435828e-5L,
    3.4702513081376784767e-6L,   -8.5687202646954547407e-7L,  2.0032947535521352623e-7L,
    -4.4450591287963280807e-8L,  9.3815373864957717839e-9L,   -1.8872497517228292879e-9L,
    3.625590281552117037e-10L,   -6.6634897235020277422e-11L, 1.1736186298890901631e-11L,
    -1.9839743977649437152e-12L, 3.2237933659455747098e-13L,  -5.0421855047279116871e-14L,
    7.6006842947354069341e-15L,  -1.105596947735386308e-15L,  1.5536319577362004689e-16L,
    -2.1114212143581660782e-17L, 2.7779141127610463705e-18L,  -3.5415817725421362052e-19L,
    4.3793027566550709946e-20L,  -5.2567299825746412469e-21L};
constexpr long double kI1Large[] = {
    3.8928811750914006024e-1L,   -9.7610974913614684078e-3L,  -1.1058893876262371629e-4L,
    -3.8825648088776903935e-6L,  -2.5122362378702089253e-7L,  -2.6314688468895195068e-8L,
    -3.835380385964237022e-9L,   -5.5897434621965838069e-10L, -1.8974958123505412345e-11L,
    3.2526035830154882386e-11L,  1.4125807436613781332e-11L,  2.0356285441470895072e-12L,
    -7.1985517762459085121e-13L, -4.0835511110921973182e-13L, -2.101541842772664313e-14L,
    4.2724400167119513543e-14L,  1.0420276984128802764e-14L,  -3.8144030724370078048e-15L,
    -1.8803547755107824485e-15L, 3.3082023109209282827e-16L,  2.9626289976459501391e-16L,
    -3.2095259219934239588e-17L, -4.6503053684893583256e-17L, 4.4143483230717079499e-18L,
    7.5172963108421048054e-18L,  -9.3141788673268833757e-19L, -1.2421932751948909561e-18L,
    2.414276719454848469e-19L,   2.026944384053285179e-19L,   -6.394267188269097787e-20L,
    -3.0498124523730958961e-20L, 1.6128418516514802251e-20L};

// Returns the sum of c[k] T_k(t) for |t| <= 1 by Clenshaw's recurrence.
template <class Real, const auto& c>
Real Chebyshev(Real t) {
  static constexpr auto kTerms = [] {
    std::array<Real, std::size(c)> terms{};
    std::copy(std::begin(c), std::end(c), terms.begin());
    return terms;
  }();
  Real last = 0, sum = 0;
  for (size_t k = kTerms.size() - 1; k > 0; --k)
    last = std::exchange(sum, 2 * t * sum - last + kTerms[k]);
  return t * sum - last + kTerms[0];
}

template <class Real>
Real BesselI0e(Real x) {
  const Real a = std::fabs(x);
  if (a > 8) return Chebyshev<Real, kI0Large>(16 / a - 1) / std::sqrt(a);
  return Chebyshev<Real, kI0Small>(a / 4 - 1);
}
template <class Real>
Real BesselI1e(Real x) {
  const Real a = std::fabs(x);
  if (a > 8) return std::copysign(Chebyshev<Real, kI1Large>(16 / a - 1) / std::sqrt(a), x);
  return Chebyshev<Real, kI1Small>(a / 4 - 1) * x;
}

// Between the poles, libm's lgamma is off by up to 4.5 units of f64.
template <class T>
T Lgamma(T x) {
  int sign;  // lgamma itself writes a global variable
  if (sizeof(T) == 8 && x < 0) return static_cast<T>(lgammal_r(x, &sign));
  return static_cast<T>(lgamma_r(x, &sign));
}

// nextafter in f16 or bf16: maps their numbers to integers in the same order, with both
// zeros equal.
template <bool kHalf>
float StepTowards(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  uint16_t bits = kHalf ? base::FloatToHalf(x) : base::FloatToBrain(x);
  if (x == 0)
    bits = y > 0 ? 1 : 0x8001;
  else if ((x < y) == (x > 0))
    ++bits;
  else
    --bits;
  return kHalf ? base::HalfToFloat(bits) : base::BrainToFloat(bits);
}

// ---- integers -----------------------------------------------------------------------------------

// A negative exponent has no integer power. As in JAX, its low six bits count as the exponent.
template <class T>
T IntegerPower(T base, T exponent) {
  T result = 1;
  auto bits = static_cast<std::make_unsigned_t<T>>(exponent);
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0) bits &= 63;
  for (auto e = bits; e != 0; e >>= 1) {
    if (e & 1) result = WrapMul(result, base);
    base = WrapMul(base, base);
  }
  return result;
}

// plan/scalar_op.h defines the results of x / 0 and lowest / -1.
template <class T>
T IntegerQuotient(T x, T y) {
  if (y == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return static_cast<T>(std::make_unsigned_t<T>{0} - x);
  }
  return x / y;
}
template <class T>
T IntegerRemainder(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return 0;
  }
  return x % y;
}

template <class T>
inline constexpr std::make_unsigned_t<T> kBits = sizeof(T) * 8;

template <class T>
T ShiftLeft(T x, T y) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(x), by = static_cast<decltype(bits)>(y);
  return by < kBits<T> ? static_cast<T>(bits << by) : T{0};
}
template <class T>
T ShiftRightLogical(T x, T y) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(x), by = static_cast<decltype(bits)>(y);
  return by < kBits<T> ? static_cast<T>(bits >> by) : T{0};
}
template <class T>
T ShiftRightArithmetic(T x, T y) {
  const auto by = static_cast<std::make_unsigned_t<T>>(y);
  return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >> std::min(by, kBits<T> - 1));
}

// Unlike the type of 128 bits, this needs no extension of the language.
inline uint64_t MulHigh(uint64_t x, uint64_t y) {
  constexpr uint64_t kLow = 0xffffffff;
  const uint64_t middle = (x >> 32) * (y & kLow) + ((x & kLow) * (y & kLow) >> 32);
  const uint64_t other = (x & kLow) * (y >> 32) + (middle & kLow);
  return (x >> 32) * (y >> 32) + (middle >> 32) + (other >> 32);
}
inline int64_t MulHigh(int64_t x, int64_t y) {
  const auto a = static_cast<uint64_t>(x), b = static_cast<uint64_t>(y);
  return static_cast<int64_t>(MulHigh(a, b) - (x < 0 ? b : 0) - (y < 0 ? a : 0));
}
inline uint32_t MulHigh(uint32_t x, uint32_t y) {
  return static_cast<uint32_t>(uint64_t{x} * y >> 32);
}
inline int32_t MulHigh(int32_t x, int32_t y) { return static_cast<int32_t>(int64_t{x} * y >> 32); }

// ---- the table ----------------------------------------------------------------------------------

// Applies f(x), f(x, y) or f(x, y, z) to the elements of a block.
template <class T, auto f>
void Loop(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  T* x = reinterpret_cast<T*>(acc);
  if constexpr (std::is_invocable_v<decltype(f), T>) {
    for (size_t k = 0; k < n; ++k) x[k] = f(x[k]);
  } else {
    const T* y = reinterpret_cast<const T*>(EffectiveAddress(c, instr.a, i));
    if constexpr (std::is_invocable_v<decltype(f), T, T>) {
      for (size_t k = 0; k < n; ++k) x[k] = f(x[k], y[k]);
    } else {
      const T* z = reinterpret_cast<const T*>(EffectiveAddress(c, instr.b, i));
      for (size_t k = 0; k < n; ++k) x[k] = f(x[k], y[k], z[k]);
    }
  }
}

using Blocks = std::array<BlockFn, kLanes>;  // indexed by Lane; null: none

// f is a generic lambda over the lanes of floats or of integers.
template <auto f>
Blocks Floats() {
  Blocks blocks{};
  base::At(blocks, Lane::kF32) = &Loop<float, f>;
  base::At(blocks, Lane::kF64) = &Loop<double, f>;
  return blocks;
}
template <auto f>
Blocks AndIntegers(Blocks blocks) {
  base::At(blocks, Lane::kI32) = &Loop<int32_t, f>;
  base::At(blocks, Lane::kU32) = &Loop<uint32_t, f>;
  base::At(blocks, Lane::kI64) = &Loop<int64_t, f>;
  base::At(blocks, Lane::kU64) = &Loop<uint64_t, f>;
  return blocks;
}
template <auto f>
Blocks Integers() {
  return AndIntegers<f>({});
}

// No default case: a missing op does not compile.
Blocks BlocksOf(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case kExp2:
      return Floats<[](auto x) { return std::exp2(x); }>();
    case kCbrt:
      return Floats<[](auto x) { return std::cbrt(x); }>();
    case kTan:
      return Floats<[](auto x) { return std::tan(x); }>();
    case kCosh:
      return Floats<[](auto x) { return std::cosh(x); }>();
    case kErf:
      return Floats<[](auto x) { return std::erf(x); }>();
    case kErfc:
      return Floats<[](auto x) { return std::erfc(x); }>();
    case kLgamma:
      return Floats<[](auto x) { return Lgamma(x); }>();
    case kDigamma:
      return Floats<[]<class T>(T x) { return static_cast<T>(Digamma<Wider<T>>(x)); }>();
    case kBesselI0e:
      return Floats<[]<class T>(T x) { return static_cast<T>(BesselI0e<Wider<T>>(x)); }>();
    case kBesselI1e:
      return Floats<[]<class T>(T x) { return static_cast<T>(BesselI1e<Wider<T>>(x)); }>();
    case kAtan2:
      return Floats<[](auto x, auto y) { return std::atan2(x, y); }>();
    case kNextafter:
      return Floats<[](auto x, auto y) { return std::nextafter(x, y); }>();
    case kZeta:
      return Floats<[]<class T>(T s, T q) { return static_cast<T>(Zeta<Wider<T>>(s, q)); }>();
    case kIgamma:
      return Floats<[]<class T>(T x, T y) { return static_cast<T>(LowerGamma<Wider<T>>(x, y)); }>();
    case kIgammac:
      return Floats<[]<class T>(T x, T y) { return static_cast<T>(UpperGamma<Wider<T>>(x, y)); }>();
    case kIgammaGradA:
      return Floats<[]<class T>(T x, T y) {
        return static_cast<T>(LowerGammaByShape<Wider<T>>(x, y));
      }>();
    case kRandomGammaGrad:
      return Floats<[]<class T>(T x, T y) {
        return static_cast<T>(GammaSampleByShape<Wider<T>>(x, y));
      }>();
    case kExpn:
      return Floats<[]<class T>(T x, T y) {
        return static_cast<T>(ExponentialIntegral<Wider<T>>(x, y));
      }>();
    case kBetainc:
      return Floats<[]<class T>(T a, T b, T x) {
        return static_cast<T>(IncompleteBeta<Wider<T>>(a, b, x));
      }>();
    case kPow:
      return AndIntegers<[](auto x, auto y) { return IntegerPower(x, y); }>(
          Floats<[](auto x, auto y) { return std::pow(x, y); }>());
    case kRem:
      return AndIntegers<[](auto x, auto y) { return IntegerRemainder(x, y); }>(
          Floats<[](auto x, auto y) { return std::fmod(x, y); }>());
    case kDiv:  // for floats: vectors
      return Integers<[](auto x, auto y) { return IntegerQuotient(x, y); }>();
    case kNeg:  // for floats: vectors
      return Integers<[]<class T>(T x) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(U{0} - static_cast<U>(x));
      }>();
    case kAbs:  // for unsigned integers; the others are vectors
      return Integers<[](auto x) { return x; }>();
    case kPopulationCount:
      return Integers<[]<class T>(T x) {
        return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
      }>();
    case kClz:
      return Integers<[]<class T>(T x) {
        return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(x)));
      }>();
    case kMulHigh:
      return Integers<[](auto x, auto y) { return MulHigh(x, y); }>();
    case kShiftLeft:
      return Integers<[](auto x, auto y) { return ShiftLeft(x, y); }>();
    case kShiftRightLogical:
      return Integers<[](auto x, auto y) { return ShiftRightLogical(x, y); }>();
    case kShiftRightArithmetic:
      return Integers<[](auto x, auto y) { return ShiftRightArithmetic(x, y); }>();
    // Vector kernels for all lanes that they support (simd_*.cc).
    case kSign:
    case kFloor:
    case kCeil:
    case kRoundEven:
    case kRoundAway:
    case kExp:
    case kExpm1:
    case kLog:
    case kLog1p:
    case kSqrt:
    case kRsqrt:
    case kSin:
    case kCos:
    case kAsin:
    case kAcos:
    case kAtan:
    case kSinh:
    case kTanh:
    case kAsinh:
    case kAcosh:
    case kAtanh:
    case kErfInv:
    case kLogistic:
    case kIsFinite:
    case kNot:
    case kAdd:
    case kSub:
    case kMul:
    case kMax:
    case kMin:
    case kAnd:
    case kOr:
    case kXor:
    case kRandomFoldIn:
    case kRandomBits64:
    case kRandomBits32:
    case kEq:
    case kNe:
    case kLt:
    case kLe:
    case kGt:
    case kGe:
      return {};
    // These are not instructions of their own (fused_graph.cc).
    case kRelu:
    case kReal:
    case kImag:
    case kConj:
    case kComplex:
    case kConvert:
    case kSelect:
    case kClamp:
      return {};
  }
  return {};
}

}  // namespace

BlockFn ScalarBlock(Lane lane, ScalarOp op) { return base::At(BlocksOf(op), lane); }

BlockFn NextafterBlock(DType dtype) {
  if (dtype == f16) return &Loop<float, &StepTowards<true>>;
  if (dtype == bf16) return &Loop<float, &StepTowards<false>>;
  return ScalarBlock(dtype == f64 ? Lane::kF64 : Lane::kF32, ScalarOp::kNextafter);
}

}  // namespace tessera::kernels

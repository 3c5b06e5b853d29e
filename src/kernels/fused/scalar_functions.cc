// Functions without a vector form, by plain loops over libm.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/elements/scalar_elements.h"
#include "kernels/fused/scalar_blocks.h"

namespace tessera::kernels {
namespace {

using plan::ScalarOp;

// By recurrence to x >= 12, where eight terms of the asymptotic series are good for 1e-19. The
// poles are NaN. Real has more digits than the result: near digamma's zeros they cancel.
template <class Real>
Real Digamma(Real x) {
  constexpr Real kOne = 1;
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<Real>::quiet_NaN();
    // The reflection's argument is reduced first: tan(pi x) has the period 1.
    constexpr Real kPi = std::numbers::pi_v<Real>;
    const Real part = x - std::round(x);
    return Digamma(1 - x) - kPi / std::tan(kPi * part);
  }
  Real sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  // B_2k / 2k
  constexpr Real kTerms[] = {kOne / 12,  -kOne / 120,         kOne / 252, -kOne / 240,
                             kOne / 132, -691 * kOne / 32760, kOne / 12,  -3617 * kOne / 8160};
  const Real y = 1 / (x * x);
  Real series = 0;
  for (int k = 7; k >= 0; --k) series = (series + kTerms[k]) * y;
  return sum + std::log(x) - 1 / (2 * x) - series;
}

// Newton's iteration (Halley's correction) on erf, or on erfc near 1 where erf has no digits left.
double ErfInv(double x) {
  const double a = std::fabs(x);
  if (!(a <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (a == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (a < 1e-8) return x * (std::sqrt(std::numbers::pi) / 2);
  // Winitzki's approximation, 2e-3 of relative error, as the start.
  constexpr double kA = 0.147;
  const double l = std::log1p(-a * a), h = 2 / (std::numbers::pi * kA) + l / 2;
  double y = std::sqrt(std::sqrt(h * h - l / kA) - h);
  for (int k = 0; k < 4; ++k) {
    const double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double step = error / (2 / std::sqrt(std::numbers::pi) * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

double Lgamma(double x) {
  int sign;  // lgamma itself writes a global
  return lgamma_r(x, &sign);
}

// A negative exponent, which has no integer power, counts by its low six bits, as JAX has it.
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

// The quotient and the remainder of x / 0 and of lowest / -1 are those of plan/fused.h.
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

// The elements' own numbers of f16 and bf16 as integers in their order, zeros together.
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

// f(x) and f(x, y) of the elements of a block.
template <class T, auto kFunction>
void LoopOfOne(const Instr&, const Context&, size_t, size_t n, std::byte* acc) {
  T* x = reinterpret_cast<T*>(acc);
  for (size_t k = 0; k < n; ++k) x[k] = kFunction(x[k]);
}
template <class T, auto kFunction>
void LoopOfTwo(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  T* x = reinterpret_cast<T*>(acc);
  const T* y = reinterpret_cast<const T*>(Address(c, instr.a, i));
  for (size_t k = 0; k < n; ++k) x[k] = kFunction(x[k], y[k]);
}
template <class T, auto kFunction>
BlockFn OfOne() {
  return &LoopOfOne<T, kFunction>;
}
template <class T, auto kFunction>
BlockFn OfTwo() {
  return &LoopOfTwo<T, kFunction>;
}

// Here and below: each op's meaning, or that it needs none. No default: an op that is missing does
// not compile.
template <class T>
BlockFn FloatOf(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case kCbrt:
      return OfOne<T, [](T x) { return std::cbrt(x); }>();
    case kTan:
      return OfOne<T, [](T x) { return std::tan(x); }>();
    case kCosh:
      return OfOne<T, [](T x) { return std::cosh(x); }>();
    case kErf:
      return OfOne<T, [](T x) { return std::erf(x); }>();
    case kErfc:
      return OfOne<T, [](T x) { return std::erfc(x); }>();
    case kErfInv:
      return OfOne<T, [](T x) { return static_cast<T>(ErfInv(x)); }>();
    case kLgamma:
      return OfOne<T, [](T x) { return static_cast<T>(Lgamma(x)); }>();
    case kDigamma: {
      using Real = std::conditional_t<sizeof(T) == 4, double, long double>;
      return OfOne<T, [](T x) { return static_cast<T>(Digamma<Real>(x)); }>();
    }
    case kExp2:
      return OfOne<T, [](T x) { return std::exp2(x); }>();
    case kRem:
      return OfTwo<T, [](T x, T y) { return std::fmod(x, y); }>();
    case kPow:
      return OfTwo<T, [](T x, T y) { return std::pow(x, y); }>();
    case kAtan2:
      return OfTwo<T, [](T x, T y) { return std::atan2(x, y); }>();
    case kNextafter:
      return OfTwo<T, [](T x, T y) { return std::nextafter(x, y); }>();
    // Vectors (simd_*.cc).
    case kNeg:
    case kAbs:
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
    case kLogistic:
    case kIsFinite:
    case kAdd:
    case kSub:
    case kMul:
    case kDiv:
    case kMax:
    case kMin:
    case kEq:
    case kNe:
    case kLt:
    case kLe:
    case kGt:
    case kGe:
      return nullptr;
    // Not an instruction of its own (fused_graph.cc).
    case kConvert:
    case kSelect:
    case kClamp:
      return nullptr;
    // Not of floats.
    case kNot:
    case kPopulationCount:
    case kClz:
    case kAnd:
    case kOr:
    case kXor:
    case kShiftLeft:
    case kShiftRightArithmetic:
    case kShiftRightLogical:
      return nullptr;
  }
  return nullptr;
}

template <class T>
BlockFn IntegerOf(ScalarOp op) {
  using enum ScalarOp;
  using U = std::make_unsigned_t<T>;
  static constexpr U kBits = sizeof(T) * 8;
  switch (op) {
    case kNeg:
      return OfOne<T, [](T x) { return static_cast<T>(U{0} - static_cast<U>(x)); }>();
    case kAbs:  // of an unsigned one; vectors have the others
      return OfOne<T, [](T x) { return x; }>();
    case kPopulationCount:
      return OfOne<T, [](T x) { return static_cast<T>(std::popcount(static_cast<U>(x))); }>();
    case kClz:
      return OfOne<T, [](T x) { return static_cast<T>(std::countl_zero(static_cast<U>(x))); }>();
    case kPow:
      return OfTwo<T, &IntegerPower<T>>();
    case kShiftLeft:
      return OfTwo<T, [](T x, T y) {
        const U by = static_cast<U>(y);
        return by < kBits ? static_cast<T>(static_cast<U>(x) << by) : T{0};
      }>();
    case kShiftRightLogical:
      return OfTwo<T, [](T x, T y) {
        const U by = static_cast<U>(y);
        return by < kBits ? static_cast<T>(static_cast<U>(x) >> by) : T{0};
      }>();
    case kShiftRightArithmetic:
      return OfTwo<T, [](T x, T y) {
        const U by = static_cast<U>(y);
        return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >> std::min<U>(by, kBits - 1));
      }>();
    case kDiv:
      return OfTwo<T, &IntegerQuotient<T>>();
    case kRem:
      return OfTwo<T, &IntegerRemainder<T>>();
    // Vectors (simd_*.cc).
    case kSign:
    case kNot:
    case kAdd:
    case kSub:
    case kMul:
    case kMax:
    case kMin:
    case kAnd:
    case kOr:
    case kXor:
    case kEq:
    case kNe:
    case kLt:
    case kLe:
    case kGt:
    case kGe:
      return nullptr;
    // Not an instruction of its own (fused_graph.cc).
    case kFloor:
    case kCeil:
    case kRoundEven:
    case kRoundAway:
    case kIsFinite:
    case kConvert:
    case kSelect:
    case kClamp:
      return nullptr;
    // Of floats.
    case kExp:
    case kExp2:
    case kExpm1:
    case kLog:
    case kLog1p:
    case kSqrt:
    case kRsqrt:
    case kCbrt:
    case kSin:
    case kCos:
    case kTan:
    case kAsin:
    case kAcos:
    case kAtan:
    case kSinh:
    case kCosh:
    case kTanh:
    case kAsinh:
    case kAcosh:
    case kAtanh:
    case kErf:
    case kErfc:
    case kErfInv:
    case kLgamma:
    case kDigamma:
    case kLogistic:
    case kAtan2:
    case kNextafter:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

BlockFn FloatBlock(Lane lane, ScalarOp op) {
  return lane == Lane::kF32 ? FloatOf<float>(op) : FloatOf<double>(op);
}

BlockFn IntegerBlock(Lane lane, ScalarOp op) {
  switch (lane) {
    case Lane::kI32:
      return IntegerOf<int32_t>(op);
    case Lane::kU32:
      return IntegerOf<uint32_t>(op);
    case Lane::kI64:
      return IntegerOf<int64_t>(op);
    default:
      return IntegerOf<uint64_t>(op);
  }
}

BlockFn NextafterBlock(DType dtype) {
  if (dtype == f16) return OfTwo<float, &StepTowards<true>>();
  if (dtype == bf16) return OfTwo<float, &StepTowards<false>>();
  return FloatBlock(dtype == f64 ? Lane::kF64 : Lane::kF32, ScalarOp::kNextafter);
}

}  // namespace tessera::kernels

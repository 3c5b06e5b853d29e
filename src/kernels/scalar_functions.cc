// Functions without a vector form, by plain loops over libm.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/scalar_blocks.h"
#include "kernels/scalar_elements.h"

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

template <ScalarOp kOp, class T>
T FloatFunction(T x, T y) {
  using enum ScalarOp;
  if constexpr (kOp == kCbrt)
    return std::cbrt(x);
  else if constexpr (kOp == kTan)
    return std::tan(x);
  else if constexpr (kOp == kCosh)
    return std::cosh(x);
  else if constexpr (kOp == kErf)
    return std::erf(x);
  else if constexpr (kOp == kErfc)
    return std::erfc(x);
  else if constexpr (kOp == kErfInv)
    return static_cast<T>(ErfInv(x));
  else if constexpr (kOp == kLgamma)
    return static_cast<T>(Lgamma(x));
  else if constexpr (kOp == kDigamma)
    return static_cast<T>(
        Digamma(static_cast<std::conditional_t<sizeof(T) == 4, double, long double>>(x)));
  else if constexpr (kOp == kExp2)
    return std::exp2(x);
  else if constexpr (kOp == kRem)
    return std::fmod(x, y);
  else if constexpr (kOp == kPow)
    return std::pow(x, y);
  else if constexpr (kOp == kAtan2)
    return std::atan2(x, y);
  else
    return std::nextafter(x, y);
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

template <ScalarOp kOp, class T>
T IntegerFunction(T x, T y) {
  using enum ScalarOp;
  using U = std::make_unsigned_t<T>;
  constexpr U kBits = sizeof(T) * 8;
  const U amount = static_cast<U>(y);
  if constexpr (kOp == kNeg)
    return static_cast<T>(U{0} - static_cast<U>(x));
  else if constexpr (kOp == kAbs)
    return x;
  else if constexpr (kOp == kPopulationCount)
    return static_cast<T>(std::popcount(static_cast<U>(x)));
  else if constexpr (kOp == kClz)
    return static_cast<T>(std::countl_zero(static_cast<U>(x)));
  else if constexpr (kOp == kPow)
    return IntegerPower(x, y);
  else if constexpr (kOp == kShiftLeft)
    return amount < kBits ? static_cast<T>(static_cast<U>(x) << amount) : T{0};
  else if constexpr (kOp == kShiftRightLogical)
    return amount < kBits ? static_cast<T>(static_cast<U>(x) >> amount) : T{0};
  else if constexpr (kOp == kShiftRightArithmetic)
    return static_cast<T>(static_cast<std::make_signed_t<T>>(x) >>
                          (amount < kBits ? amount : kBits - 1));
  else if constexpr (kOp == kDiv) {
    if (y == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return static_cast<T>(U{0} - static_cast<U>(x));
    }
    return x / y;
  } else {
    if (y == 0) return x;
    if constexpr (std::is_signed_v<T>) {
      if (y == -1) return 0;
    }
    return x % y;
  }
}

// The elements' own numbers of f16 and bf16 as integers in their order, zeros together.
template <bool kHalf>
float StepTowards(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  uint16_t bits = kHalf ? RoundedToHalf(x) : RoundedToBrain(x);
  if (x == 0)
    bits = y > 0 ? 1 : 0x8001;
  else if ((x < y) == (x > 0))
    ++bits;
  else
    --bits;
  return kHalf ? HalfToFloat(bits) : BrainToFloat(bits);
}

template <class T, auto kFunction, bool kTwo>
void Loop(const Instr& instr, const Context& c, size_t i, size_t n, std::byte* acc) {
  T* x = reinterpret_cast<T*>(acc);
  const T* y = kTwo ? reinterpret_cast<const T*>(Address(c, instr.a, i)) : x;
  for (size_t k = 0; k < n; ++k) x[k] = kFunction(x[k], y[k]);
}

constexpr bool kTwo = true, kOne = false;

template <class T>
BlockFn FloatOf(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case kCbrt:
      return &Loop<T, &FloatFunction<kCbrt, T>, kOne>;
    case kTan:
      return &Loop<T, &FloatFunction<kTan, T>, kOne>;
    case kCosh:
      return &Loop<T, &FloatFunction<kCosh, T>, kOne>;
    case kErf:
      return &Loop<T, &FloatFunction<kErf, T>, kOne>;
    case kErfc:
      return &Loop<T, &FloatFunction<kErfc, T>, kOne>;
    case kErfInv:
      return &Loop<T, &FloatFunction<kErfInv, T>, kOne>;
    case kLgamma:
      return &Loop<T, &FloatFunction<kLgamma, T>, kOne>;
    case kDigamma:
      return &Loop<T, &FloatFunction<kDigamma, T>, kOne>;
    case kExp2:
      return &Loop<T, &FloatFunction<kExp2, T>, kOne>;
    case kRem:
      return &Loop<T, &FloatFunction<kRem, T>, kTwo>;
    case kPow:
      return &Loop<T, &FloatFunction<kPow, T>, kTwo>;
    case kAtan2:
      return &Loop<T, &FloatFunction<kAtan2, T>, kTwo>;
    case kNextafter:
      return &Loop<T, &FloatFunction<kNextafter, T>, kTwo>;
    default:
      return nullptr;
  }
}

template <class T>
BlockFn IntegerOf(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case kNeg:
      return &Loop<T, &IntegerFunction<kNeg, T>, kOne>;
    case kAbs:
      return &Loop<T, &IntegerFunction<kAbs, T>, kOne>;
    case kPopulationCount:
      return &Loop<T, &IntegerFunction<kPopulationCount, T>, kOne>;
    case kClz:
      return &Loop<T, &IntegerFunction<kClz, T>, kOne>;
    case kPow:
      return &Loop<T, &IntegerFunction<kPow, T>, kTwo>;
    case kShiftLeft:
      return &Loop<T, &IntegerFunction<kShiftLeft, T>, kTwo>;
    case kShiftRightLogical:
      return &Loop<T, &IntegerFunction<kShiftRightLogical, T>, kTwo>;
    case kShiftRightArithmetic:
      return &Loop<T, &IntegerFunction<kShiftRightArithmetic, T>, kTwo>;
    case kDiv:
      return &Loop<T, &IntegerFunction<kDiv, T>, kTwo>;
    case kRem:
      return &Loop<T, &IntegerFunction<kRem, T>, kTwo>;
    default:
      return nullptr;
  }
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
  if (dtype == f16) return &Loop<float, &StepTowards<true>, kTwo>;
  if (dtype == bf16) return &Loop<float, &StepTowards<false>, kTwo>;
  return FloatBlock(dtype == f64 ? Lane::kF64 : Lane::kF32, ScalarOp::kNextafter);
}

}  // namespace tessera::kernels

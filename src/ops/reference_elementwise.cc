#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "ops/params.h"
#include "ops/reference.h"
#include "ops/reference_values.h"
#include "plan/fused.h"

namespace tessera::ops::reference {
namespace {

using plan::ScalarOp;

[[noreturn]] void Refuse(ScalarOp op, DType dtype) {
  throw std::logic_error("reference: ScalarOp " + std::to_string(static_cast<int>(op)) +
                         " has no meaning for " + dtype.name());
}

// ---- Floats -------------------------------------------------------------------------------------

double Sign(double x) {
  if (std::isnan(x) || x == 0) return x;
  return x > 0 ? 1 : -1;
}

double Lgamma(double x) {
  int sign;  // std::lgamma writes a global instead
  return lgamma_r(x, &sign);
}

double FloatUnary(ScalarOp op, DType dtype, double x) {
  using enum ScalarOp;
  switch (op) {
    case kNeg:
      return -x;
    case kAbs:
      return std::fabs(x);
    case kSign:
      return Sign(x);
    case kFloor:
      return std::floor(x);
    case kCeil:
      return std::ceil(x);
    case kRoundEven:
      return std::nearbyint(x);
    case kRoundAway:
      return std::round(x);
    case kExp:
      return std::exp(x);
    case kExp2:
      return std::exp2(x);
    case kExpm1:
      return std::expm1(x);
    case kLog:
      return std::log(x);
    case kLog1p:
      return std::log1p(x);
    case kSqrt:
      return std::sqrt(x);
    case kRsqrt:
      return 1 / std::sqrt(x);
    case kCbrt:
      return std::cbrt(x);
    case kSin:
      return std::sin(x);
    case kCos:
      return std::cos(x);
    case kTan:
      return std::tan(x);
    case kAsin:
      return std::asin(x);
    case kAcos:
      return std::acos(x);
    case kAtan:
      return std::atan(x);
    case kSinh:
      return std::sinh(x);
    case kCosh:
      return std::cosh(x);
    case kTanh:
      return std::tanh(x);
    case kAsinh:
      return std::asinh(x);
    case kAcosh:
      return std::acosh(x);
    case kAtanh:
      return std::atanh(x);
    case kErf:
      return std::erf(x);
    case kErfc:
      return std::erfc(x);
    case kErfInv:
      return ErfInv(x);
    case kLgamma:
      return Lgamma(x);
    case kDigamma:
      return Digamma(x);
    case kLogistic:
      return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    default:
      Refuse(op, dtype);
  }
}

double FloatBinary(ScalarOp op, DType dtype, double x, double y) {
  using enum ScalarOp;
  switch (op) {
    case kAdd:
      return x + y;
    case kSub:
      return x - y;
    case kMul:
      return x * y;
    case kDiv:
      return x / y;
    case kRem:
      return std::fmod(x, y);
    case kPow:
      return std::pow(x, y);
    case kMax:
      return Larger(x, y);
    case kMin:
      return Smaller(x, y);
    case kAtan2:
      return std::atan2(x, y);
    default:
      Refuse(op, dtype);
  }
}

// Steps in the element's own dtype: by one in its bits, which are in the order of magnitudes.
void Nextafter(const HostTensor& x, int64_t i, const HostTensor& y, int64_t j, HostTensor& out,
               int64_t k) {
  const double from = x.Float(i), to = y.Float(j);
  const uint64_t sign = uint64_t{1} << (x.dtype.size() * 8 - 1);
  if (std::isnan(from) || std::isnan(to)) return out.SetFloat(k, from + to);
  if (from == to) return out.SetFrom(k, y, j);
  if (from == 0) return SetBits(out, k, to > 0 ? 1 : sign | 1);
  const bool outwards = (from < to) == (from > 0);
  SetBits(out, k, outwards ? BitsAt(x, i) + 1 : BitsAt(x, i) - 1);
}

// ---- Integers and bools -------------------------------------------------------------------------

// An integer's or bool's value (as HostTensor::Int gives it) with what its dtype makes of it.
// Results need not be wrapped: storing them does that.
struct Int {
  DType dtype;
  int64_t value;
  int width() const { return dtype.size() * 8; }
  uint64_t wrapped() const { return static_cast<uint64_t>(value); }  // for sums that may overflow
  uint64_t bits() const { return wrapped() & (~uint64_t{0} >> (64 - width())); }
};

int64_t Wrap(uint64_t v) { return static_cast<int64_t>(v); }

int64_t Negated(Int x) { return Wrap(0 - x.wrapped()); }

int64_t IntUnary(ScalarOp op, Int x) {
  using enum ScalarOp;
  const bool negative = x.dtype.is_signed() && x.value < 0;
  switch (op) {
    case kNeg:
      return Negated(x);
    case kAbs:
      return negative ? Negated(x) : x.value;
    case kSign:
      return negative ? -1 : x.value != 0;
    case kNot:
      return x.dtype.is_bool() ? x.value == 0 : ~x.value;
    case kPopulationCount:
      return std::popcount(x.bits());
    case kClz:
      return std::countl_zero(x.bits()) - (64 - x.width());
    default:
      Refuse(op, x.dtype);
  }
}

int64_t Quotient(Int x, Int y) {
  if (y.value == 0) return -1;
  if (!x.dtype.is_signed()) return Wrap(x.wrapped() / y.wrapped());
  return y.value == -1 ? Negated(x) : x.value / y.value;
}

int64_t Remainder(Int x, Int y) {
  if (y.value == 0) return x.value;
  if (!x.dtype.is_signed()) return Wrap(x.wrapped() % y.wrapped());
  return y.value == -1 ? 0 : x.value % y.value;
}

// A negative exponent, which has no integer power, counts by its low six bits, as JAX has it.
int64_t Power(Int x, Int y) {
  uint64_t result = 1, square = x.wrapped();
  bool negative = y.dtype.is_signed() && y.value < 0;
  for (uint64_t rest = negative ? y.bits() & 63 : y.bits(); rest != 0; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return Wrap(result);
}

// A negative amount is one above the width, as are all bits that are too large.
int64_t ShiftLeft(Int x, Int amount) {
  if (amount.bits() >= static_cast<uint64_t>(x.width())) return 0;
  return Wrap(x.wrapped() << amount.bits());
}

int64_t ShiftRightLogical(Int x, Int amount) {
  if (amount.bits() >= static_cast<uint64_t>(x.width())) return 0;
  return Wrap(x.bits() >> amount.bits());
}

// The highest bit is copied, that of an unsigned integer too.
int64_t ShiftRightArithmetic(Int x, Int amount) {
  const int above = 64 - x.width();
  const int64_t extended = Wrap(x.bits() << above) >> above;
  return extended >> std::min(amount.bits(), uint64_t{63});
}

int64_t IntBinary(ScalarOp op, Int x, Int y) {
  using enum ScalarOp;
  switch (op) {
    case kAdd:
      return Wrap(x.wrapped() + y.wrapped());
    case kSub:
      return Wrap(x.wrapped() - y.wrapped());
    case kMul:
      return Wrap(x.wrapped() * y.wrapped());
    case kDiv:
      return Quotient(x, y);
    case kRem:
      return Remainder(x, y);
    case kPow:
      return Power(x, y);
    case kMax:
      return IntLess(x.dtype, x.value, y.value) ? y.value : x.value;
    case kMin:
      return IntLess(x.dtype, y.value, x.value) ? y.value : x.value;
    case kAnd:
      return x.value & y.value;
    case kOr:
      return x.value | y.value;
    case kXor:
      return x.value ^ y.value;
    case kShiftLeft:
      return ShiftLeft(x, y);
    case kShiftRightArithmetic:
      return ShiftRightArithmetic(x, y);
    case kShiftRightLogical:
      return ShiftRightLogical(x, y);
    default:
      Refuse(op, x.dtype);
  }
}

// ---- Comparisons and conversions ----------------------------------------------------------------

template <class T>
bool Compare(ScalarOp op, T x, T y) {
  using enum ScalarOp;
  switch (op) {
    case kEq:
      return x == y;
    case kNe:
      return x != y;
    case kLt:
      return x < y;
    case kLe:
      return x <= y;
    case kGt:
      return x > y;
    default:
      return x >= y;
  }
}

bool CompareElements(ScalarOp op, const HostTensor& x, int64_t i, const HostTensor& y, int64_t j) {
  if (x.dtype.is_floating()) return Compare(op, x.Float(i), y.Float(j));
  if (x.dtype.is_signed()) return Compare(op, x.Int(i), y.Int(j));
  return Compare(op, static_cast<uint64_t>(x.Int(i)), static_cast<uint64_t>(y.Int(j)));
}

// Saturates; NaN gives 0.
int64_t ToInt(DType dtype, double v) {
  const int digits = dtype.size() * 8 - int{dtype.is_signed()};
  const double end = std::ldexp(1.0, digits);  // the first number above the highest
  if (std::isnan(v)) return 0;
  if (v >= end) return HighestInt(dtype);
  if (v <= (dtype.is_signed() ? -end : 0)) return LowestInt(dtype);
  return dtype.is_signed() ? static_cast<int64_t>(v) : Wrap(static_cast<uint64_t>(v));
}

void Convert(const HostTensor& x, int64_t i, HostTensor& out, int64_t k) {
  if (out.dtype.is_floating()) {
    if (x.dtype.is_floating())
      out.SetFloat(k, x.Float(i));
    else if (x.dtype.is_signed())
      out.SetFloat(k, static_cast<long double>(x.Int(i)));
    else
      out.SetFloat(k, static_cast<long double>(static_cast<uint64_t>(x.Int(i))));
  } else if (!x.dtype.is_floating()) {
    out.SetInt(k, x.Int(i));
  } else if (out.dtype.is_bool()) {
    out.SetInt(k, x.Float(i) != 0);
  } else {
    out.SetInt(k, ToInt(out.dtype, x.Float(i)));
  }
}

// ---- One element --------------------------------------------------------------------------------

// NaN in any operand is the result; the upper bound wins over a lower one above it.
void Clamp(const ReferenceCall& call, const std::vector<int64_t>& at, int64_t k) {
  const HostTensor &low = *call.operands[0], &x = *call.operands[1], &high = *call.operands[2];
  HostTensor& out = *call.results[0];
  if (x.dtype.is_floating())
    return out.SetFloat(k, Smaller(Larger(x.Float(at[1]), low.Float(at[0])), high.Float(at[2])));
  const Int a{x.dtype, low.Int(at[0])}, b{x.dtype, x.Int(at[1])}, c{x.dtype, high.Int(at[2])};
  const Int raised{x.dtype, IntBinary(ScalarOp::kMax, a, b)};
  out.SetInt(k, IntBinary(ScalarOp::kMin, raised, c));
}

// The functions of one dtype: one or two operands, and the result is of their dtype.
void Compute(ScalarOp op, const ReferenceCall& call, const std::vector<int64_t>& at, int64_t k) {
  const bool unary = at.size() == 1;
  const HostTensor &x = *call.operands[0], &y = *call.operands[unary ? 0 : 1];
  const int64_t i = at[0], j = at[unary ? 0 : 1];
  HostTensor& out = *call.results[0];
  if (x.dtype.is_floating()) {
    const double a = x.Float(i), b = y.Float(j);
    out.SetFloat(k, unary ? FloatUnary(op, x.dtype, a) : FloatBinary(op, x.dtype, a, b));
  } else {
    const Int a{x.dtype, x.Int(i)}, b{x.dtype, y.Int(j)};
    out.SetInt(k, unary ? IntUnary(op, a) : IntBinary(op, a, b));
  }
}

// Computes element k of the result from element at[n] of each operand n.
void Element(ScalarOp op, const ReferenceCall& call, const std::vector<int64_t>& at, int64_t k) {
  using enum ScalarOp;
  const auto& in = call.operands;
  HostTensor& out = *call.results[0];
  switch (op) {
    case kConvert:
      return Convert(*in[0], at[0], out, k);
    case kBitcast:
      return SetBits(out, k, BitsAt(*in[0], at[0]));
    case kIsFinite:
      return out.SetInt(k, std::isfinite(in[0]->Float(at[0])));
    case kNextafter:
      return Nextafter(*in[0], at[0], *in[1], at[1], out, k);
    case kClamp:
      return Clamp(call, at, k);
    case kEq:
    case kNe:
    case kLt:
    case kLe:
    case kGt:
    case kGe:
      return out.SetInt(k, CompareElements(op, *in[0], at[0], *in[1], at[1]));
    case kSelect: {
      const size_t chosen = in[0]->Int(at[0]) ? 2 : 1;
      return out.SetFrom(k, *in[chosen], at[chosen]);
    }
    default:
      return Compute(op, call, at, k);
  }
}

// Returns where `coords` of the result lie in an operand: dims of size 1 are broadcast.
int64_t BroadcastIndex(const std::vector<int64_t>& shape, std::vector<int64_t> coords) {
  if (shape.empty()) return 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1) coords[d] = 0;
  return ir::FlatIndex(shape, coords);
}

void ApplyScalarOp(ScalarOp op, const ReferenceCall& call) {
  HostTensor& out = *call.results[0];
  std::vector<int64_t> at(call.operands.size());
  for (int64_t k = 0; k < out.size(); ++k) {
    const std::vector<int64_t> coords = ir::CoordsOf(out.shape, k);
    for (size_t n = 0; n < at.size(); ++n) at[n] = BroadcastIndex(call.operands[n]->shape, coords);
    Element(op, call, at, k);
  }
}

}  // namespace

void Elementwise(const ReferenceCall& call) {
  ApplyScalarOp(std::get<ir::Elementwise>(*call.op.lowering).op, call);
}

}  // namespace tessera::ops::reference

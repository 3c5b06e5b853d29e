// The scalar functions that elementwise ops and fused groups are made of.
#pragma once
#include <cstdint>

#include "tessera/reduction.h"

namespace tessera::plan {

// Functions of elements. Operands and result have the node's dtype unless stated otherwise.
// Integers wrap around; x / 0 has all bits set, x % 0 = x, lowest / -1 = lowest; shifts by the
// width or more give 0 (arithmetic shifts: the sign).
enum class ScalarOp : uint8_t {
  // one operand
  kNeg,
  kAbs /* of a complex number: the real magnitude */,
  kRelu,
  kSign,
  kFloor,
  kCeil,
  kRoundEven,
  kRoundAway,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kCbrt,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kErfc,
  kErfInv,
  kLgamma,
  kDigamma,
  kLogistic,
  kBesselI0e /* e^-|x| I_0(x) */,
  kBesselI1e,
  kReal /* of a complex number: its part */,
  kImag,
  kConj,
  kIsFinite /* -> bool; a complex number: both parts */,
  kNot /* bool: logical; integers: bits */,
  kPopulationCount,
  kClz,
  kConvert /* any dtype -> the node's: float to int saturates, NaN -> 0, int to int wraps,
              to bool is != 0, complex to real is the real part */
  ,
  // two operands
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kPow,
  kMax /* NaN wins; -0 < +0 */,
  kMin,
  kAtan2,
  kNextafter,
  kComplex /* of its real and imaginary parts */,
  kZeta /* the sum of (y + k)^-x over k >= 0 */,
  kIgamma /* of a shape and a number: the regularized incomplete gamma functions */,
  kIgammac,
  kIgammaGradA /* the derivative of kIgamma in the shape */,
  kRandomGammaGrad /* of samples of the gamma distribution, in the shape */,
  kExpn /* the integral of e^(-y t) / t^x from 1 */,
  kAnd,
  kOr,
  kXor,
  kMulHigh /* the high half of the product of integers */,
  kShiftLeft,
  kShiftRightArithmetic,
  kShiftRightLogical,
  // a key and a u64 counter: results of the block function of Threefry-2x32
  kRandomFoldIn /* -> key, of both words */,
  kRandomBits64 /* -> u64, of both words */,
  kRandomBits32 /* -> u32, their exclusive or */,
  // two operands of one dtype -> bool
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  // three operands
  kSelect /* bool p, a, b: p ? b : a (select_n's order) */,
  kClamp /* lo, x, hi */,
  kBetainc /* the regularized incomplete beta function of a, b and x */,
};

struct ScalarFacts {
  int operands = 0;  // 0: no such op
  float cost = 1;    // per element, in additions
  // the result is exact: numbers of the dtype give a number of the dtype without rounding
  bool exact = false;
  bool rounds = false;    // rounds to whole numbers: integers stay as they are
  bool compares = false;  // the result is a bool
};

// No default case: a missing op does not compile.
constexpr ScalarFacts FactsOf(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case kNeg:
    case kAbs:
    case kRelu:
    case kSign:
    case kReal:
    case kImag:
    case kConj:
      return {.operands = 1, .exact = true};
    case kFloor:
    case kCeil:
    case kRoundEven:
    case kRoundAway:
      return {.operands = 1, .exact = true, .rounds = true};
    case kSqrt:
    case kRsqrt:
      return {.operands = 1, .cost = 8};
    case kExp:
    case kExp2:
    case kExpm1:
    case kLog:
    case kLog1p:
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
    case kBesselI0e:
    case kBesselI1e:
      return {.operands = 1, .cost = 20};
    case kIsFinite:
    case kNot:
    case kPopulationCount:
    case kClz:
    case kConvert:
      return {.operands = 1};
    case kMax:
    case kMin:
    case kComplex:
      return {.operands = 2, .exact = true};
    case kDiv:
      return {.operands = 2, .cost = 8};
    case kRem:
      return {.operands = 2, .cost = 10};
    case kZeta:
      return {.operands = 2, .cost = 20};
    case kIgamma:
    case kIgammac:
    case kIgammaGradA:
    case kRandomGammaGrad:
    case kExpn:
      return {.operands = 2, .cost = 400};
    case kRandomFoldIn:
    case kRandomBits64:
    case kRandomBits32:
      return {.operands = 2, .cost = 80};
    case kAdd:
    case kSub:
    case kMul:
    case kPow:
    case kAtan2:
    case kNextafter:
    case kAnd:
    case kOr:
    case kXor:
    case kMulHigh:
    case kShiftLeft:
    case kShiftRightArithmetic:
    case kShiftRightLogical:
      return {.operands = 2};
    case kEq:
    case kNe:
    case kLt:
    case kLe:
    case kGt:
    case kGe:
      return {.operands = 2, .compares = true};
    case kSelect:
    case kClamp:
      return {.operands = 3};
    case kBetainc:
      return {.operands = 3, .cost = 400};
  }
  return {};
}

// Returns the op that combines two values of a reduction.
constexpr ScalarOp ScalarOpOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return ScalarOp::kAdd;
    case Reduction::kProd:
      return ScalarOp::kMul;
    case Reduction::kMax:
      return ScalarOp::kMax;
    case Reduction::kMin:
      return ScalarOp::kMin;
    case Reduction::kAnd:
      return ScalarOp::kAnd;
    case Reduction::kOr:
      return ScalarOp::kOr;
    case Reduction::kXor:
      return ScalarOp::kXor;
  }
  return ScalarOp::kAdd;
}

// The number of scalar ops. They are numbered from 0 without gaps, so tables have one entry each.
inline constexpr int kScalarOps = [] {
  int n = 0;
  while (FactsOf(static_cast<ScalarOp>(n)).operands > 0) ++n;
  return n;
}();
static_assert(kScalarOps == static_cast<int>(ScalarOp::kBetainc) + 1);

}  // namespace tessera::plan

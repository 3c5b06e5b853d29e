// A fused group of elementwise functions, broadcasts and reductions over trailing dims: what the
// fuser hands to the fused kernel. Plain data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "tessera/dtype.h"
#include "tessera/reduction.h"

namespace tessera::plan {

// Functions of elements. Operands and result have the node's dtype unless said otherwise.
// Integer semantics: wrap-around, x/0 = all ones,
// x%0 = x, lowest/-1 = lowest, shifts by the width or more give 0 (arithmetic: the sign).
enum class ScalarOp : uint8_t {
  // one operand
  kNeg,
  kAbs,
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
  kIsFinite /* -> bool */,
  kNot /* bool: logical; integers: bits */,
  kPopulationCount,
  kClz,
  kConvert /* any dtype -> the node's: float to int saturates, NaN -> 0, int to int wraps,
              to bool is != 0 */
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
  kZeta /* the sum of (y + k)^-x over k >= 0 */,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRightArithmetic,
  kShiftRightLogical,
  // a key and a u64 counter: what the block function of random numbers (Threefry-2x32) makes of
  // them
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
};

struct ScalarFacts {
  int operands = 0;       // 0: there is no such op
  float cost = 1;         // per element, in additions
  bool exact = false;     // of numbers of a dtype it is one too, before any rounding
  bool rounds = false;    // to whole numbers: integers stay as they are
  bool compares = false;  // -> bool
};

// No default: an op that is missing here does not compile.
constexpr ScalarFacts FactsOf(ScalarOp op) {
  using enum ScalarOp;
  switch (op) {
    case kNeg:
    case kAbs:
    case kRelu:
    case kSign:
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
      return {.operands = 2, .exact = true};
    case kDiv:
      return {.operands = 2, .cost = 8};
    case kRem:
      return {.operands = 2, .cost = 10};
    case kZeta:
      return {.operands = 2, .cost = 20};
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
  }
  return {};
}

// Scalar ops are numbered from 0 without a gap: tables have one entry for each.
inline constexpr int kScalarOps = [] {
  int n = 0;
  while (FactsOf(static_cast<ScalarOp>(n)).operands > 0) ++n;
  return n;
}();
static_assert(kScalarOps == static_cast<int>(ScalarOp::kClamp) + 1);

struct FusedNode {
  enum Kind : uint8_t { kInput, kConstant, kIota, kScalar, kReduce };
  Kind kind = kInput;
  DType dtype;                            // of the node's value
  int32_t input = -1;                     // kInput: index into FusedDesc::inputs
  int32_t iota = -1;                      // kIota: index into FusedDesc::iotas
  uint64_t bits = 0;                      // kConstant: the element's bits, low bytes first
  ScalarOp op = ScalarOp::kAdd;           // kScalar
  Reduction reduction = Reduction::kSum;  // kReduce: of args[0] over the reduced dims
  int32_t args[3] = {-1, -1, -1};         // earlier nodes
};

// One iteration space `dims` (outer first). The last `reduced` dims are what kReduce nodes reduce
// over; a node that depends only on kReduce nodes, constants and inputs without stride along the
// reduced dims is a value per row, and is broadcast where a per-element node uses it.
//
// Semantics: every node is rounded to its dtype, f16 and bf16 included, so that a fused group
// gives the bits of its ops run one by one. Sums accumulate floats in f32 or wider, in fixed blocks
// whose order does not depend on `parts`.
struct FusedDesc {
  std::vector<int64_t> dims;
  int32_t reduced = 0;
  // A box of the iteration space in which an input is read at element offset + position . strides
  // of an operand: what slices, pads, concatenations and rolls of operands make of them. Along the
  // last dim `strides` is 1; or it is 0 in all dims, and one element fills the box.
  struct Part {
    std::vector<int64_t> begin, end, strides;
    int64_t offset = 0;
    int32_t operand = -1;
  };
  struct Tensor {
    DType dtype;
    std::vector<int64_t> strides;  // elements per dim of `dims`; 0: broadcast along it
    int32_t node = -1;             // of an output: the node it stores
    int32_t operand = -1;          // of an input: the kernel's operand; -1: of its own position
    // Of an input: not one operand but these boxes, which are all of the space and do not overlap.
    // Each is whole along the reduced dims; there it is dense and no fill.
    std::vector<Part> parts = {};
  };
  // Outputs are [dims], where no two elements share a place, or, per row, [dims less reduced] and
  // dense. With reduced dims or parts all are dense.
  std::vector<Tensor> inputs, outputs;
  // Numbers that are linear in the position in the iteration space.
  struct Iota {
    std::vector<int64_t> strides;  // per dim of `dims`
    std::vector<int64_t> offsets;  // per device: the first one; empty: 0
  };
  std::vector<Iota> iotas;
  std::vector<FusedNode> nodes;
  bool streams = false;  // outputs are part of something larger than the caches
  int64_t ahead = 0;     // bytes from what a call reads to what the next one will; 0: unknown
};

}  // namespace tessera::plan

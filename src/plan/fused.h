// A fused group of elementwise functions, broadcasts and reductions over trailing dims: what the
// fuser hands to the fused kernel. Plain data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "tessera/dtype.h"

namespace tessera::plan {

// Functions of elements. Operands and result have the node's dtype unless said otherwise.
// Integer semantics: wrap-around, x/0 = all ones,
// x%0 = x, lowest/-1 = lowest, shifts by the width or more give 0 (arithmetic: the sign).
enum class ScalarOp : uint8_t {
  // one operand
  kNeg,
  kAbs,
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
  kIsFinite /* -> bool */,
  kNot /* bool: logical; integers: bits */,
  kPopulationCount,
  kClz,
  kConvert /* any dtype -> the node's: float to int saturates, NaN -> 0, int to int wraps,
              to bool is != 0 */
  ,
  kBitcast /* same size */,
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
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRightArithmetic,
  kShiftRightLogical,
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

struct FusedNode {
  enum Kind : uint8_t { kInput, kConstant, kIota, kScalar, kReduce };
  Kind kind = kInput;
  DType dtype;                            // of the node's value
  int32_t input = -1;                     // kInput: index into FusedDesc::inputs
  int64_t iota_dim = -1;                  // kIota: the index along this dim of the iteration space
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
  struct Tensor {
    DType dtype;
    std::vector<int64_t> strides;  // elements per dim of `dims`; 0: broadcast along it
    int32_t node = -1;             // of an output: the node it stores
  };
  std::vector<Tensor> inputs,
      outputs;  // outputs are dense: [dims] or, per row, [dims less reduced]
  std::vector<FusedNode> nodes;
};

}  // namespace tessera::plan

// All ops, listed. A new op is added here and nowhere else outside of its own file.
#include "ops/ops.h"

namespace tessera::ops {
namespace {
const OpDef* const kAll[] = {
    &kNeg, &kAbs, &kSign, &kFloor, &kCeil, &kRound, &kRoundAway, &kExp, &kExp2, &kExpm1, &kLog, &kLog1p,
    &kSqrt, &kRsqrt, &kCbrt, &kSin, &kCos, &kTan, &kAsin, &kAcos, &kAtan, &kSinh, &kCosh, &kTanh,
    &kAsinh, &kAcosh, &kAtanh, &kErf, &kErfc, &kErfInv, &kLgamma, &kDigamma, &kLogistic, &kIsFinite,
    &kBitwiseNot, &kPopulationCount, &kClz, &kConvertElementType,
    &kAdd, &kSub, &kMul, &kDiv, &kRem, &kPow, &kMaximum, &kMinimum, &kAtan2, &kNextafter,
    &kBitwiseAnd, &kBitwiseOr, &kBitwiseXor, &kShiftLeft, &kShiftRightArithmetic, &kShiftRightLogical,
    &kEq, &kNe, &kLt, &kLe, &kGt, &kGe, &kSelectN, &kClamp,
    &kConstant, &kIota,
    &kReshape, &kTranspose, &kBroadcastInDim, &kBitcastConvertType, &kOptimizationBarrier,
    &kSlice, &kPad, &kRev, &kConcatenate, &kDynamicSlice, &kDynamicUpdateSlice,
    &kReduceSum, &kReduceProd, &kReduceMax, &kReduceMin, &kReduceAnd, &kReduceOr, &kArgmax, &kArgmin,
    &kCumsum, &kCumprod, &kCummax, &kCummin, &kCumlogsumexp,
    &kDotGeneral, &kTake, &kSort, &kTopK,
    &kReshard, &kAllSlice, &kAllGather, &kAllToAll, &kCollectivePermute, &kAllReduce, &kReduceScatter,
    &kReplicatedToUnreduced, &kShardedToUnreduced};
}  // namespace

void Install() {
  static const bool once = [] {
    ir::InstallOps(kAll);
    return true;
  }();
  (void)once;
}

}  // namespace tessera::ops

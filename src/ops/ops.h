// The list of all ops. Everything semantic about an op is in its record, in the file named beside
// it.
#pragma once
#include "ir/op.h"

namespace tessera::ops {

using ir::OpDef;

// elementwise.cc
extern const OpDef kNeg, kAbs, kSign, kFloor, kCeil, kRound, kRoundAway, kExp, kExp2, kExpm1, kLog,
    kLog1p, kSqrt, kRsqrt, kCbrt, kSin, kCos, kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kTanh,
    kAsinh, kAcosh, kAtanh, kErf, kErfc, kErfInv, kLgamma, kDigamma, kLogistic, kIsFinite,
    kBitwiseNot, kPopulationCount, kClz, kConvertElementType;
extern const OpDef kAdd, kSub, kMul, kDiv, kRem, kPow, kMaximum, kMinimum, kAtan2, kNextafter,
    kBitwiseAnd, kBitwiseOr, kBitwiseXor, kShiftLeft, kShiftRightArithmetic, kShiftRightLogical;
extern const OpDef kEq, kNe, kLt, kLe, kGt, kGe;
extern const OpDef kSelectN, kClamp;
// make.cc
extern const OpDef kConstant, kIota;
// shape.cc
extern const OpDef kReshape, kTranspose, kBroadcastInDim, kBitcastConvertType, kOptimizationBarrier;
// pieces.cc
extern const OpDef kSlice, kPad, kRev, kConcatenate, kRoll, kDynamicSlice, kDynamicUpdateSlice;
// reduce.cc
extern const OpDef kReduceSum, kReduceProd, kReduceMax, kReduceMin, kReduceAnd, kReduceOr, kArgmax,
    kArgmin;
extern const OpDef kCumsum, kCumprod, kCummax, kCummin, kCumlogsumexp;
// dot.cc
extern const OpDef kDotGeneral;
// index.cc
extern const OpDef kSort, kTopK;
// gather.cc, scatter.cc
extern const OpDef kGather, kScatter, kScatterAdd, kScatterMul, kScatterMin, kScatterMax;
// mask.cc
extern const OpDef kMaskPadding;
// control.cc
extern const OpDef kWhileLoop, kScan, kCond, kSwitchCase;
// move.cc: between shardings; the collectives appear in device programs only
extern const OpDef kReshard, kImpliedReshard, kShardingConstraint, kPadToShards, kTrim,
    kHaloExchange, kAllSlice, kAllGather, kAllToAll, kCollectivePermute, kAllReduce, kReduceScatter,
    kReplicatedToUnreduced, kShardedToUnreduced;

// Installs the list; every entry to the library calls it.
void Install();

}  // namespace tessera::ops

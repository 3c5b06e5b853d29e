// What one needs to apply an op that is not elementwise: its name, and its params if it has any.
// A params struct's list of fields is all that hash, text and parsing know.
#pragma once
#include "ir/op.h"
#include "ir/params.h"

namespace tessera::ops {

using ir::Literal;
using ir::OpDef;
using ir::OperandDims;
using ir::PairedDims;
using ir::ResultDims;

struct ConstantParams {  // one element; the result is a scalar
  Literal value;
  friend bool operator==(const ConstantParams&, const ConstantParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("value", s.value);
  }
};
struct IotaParams {  // the index along `dim` of the result
  ResultDims dim;
  friend bool operator==(const IotaParams&, const IotaParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dim", s.dim);
  }
};
struct TransposeParams {  // dim i of the result is dim perm[i] of the operand
  OperandDims<0> perm;
  friend bool operator==(const TransposeParams&, const TransposeParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("perm", s.perm);
  }
};
struct BroadcastParams {  // dim i of the operand is dim dims[i] of the result
  ResultDims dims;
  friend bool operator==(const BroadcastParams&, const BroadcastParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dims", s.dims);
  }
};
struct SliceParams {  // x[start:limit:stride], one entry per dim
  std::vector<int64_t> starts, limits, strides;
  friend bool operator==(const SliceParams&, const SliceParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("starts", s.starts);
    f("limits", s.limits);
    f("strides", s.strides);
  }
};
struct PadParams {  // one entry per dim; low and high may be negative
  std::vector<int64_t> low, high, interior;
  friend bool operator==(const PadParams&, const PadParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("low", s.low);
    f("high", s.high);
    f("interior", s.interior);
  }
};
struct DimParams {  // concatenate: the joined dim; argmax, argmin: the reduced one
  OperandDims<0> dim;
  friend bool operator==(const DimParams&, const DimParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dim", s.dim);
  }
};
struct RollParams {  // element i of the dim goes to i + shift, from 0 again behind its end
  OperandDims<0> dim;
  int64_t shift = 0;
  friend bool operator==(const RollParams&, const RollParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dim", s.dim);
    f("shift", s.shift);
  }
};

struct DimsParams {  // rev: the reversed dims; reduce_*: the reduced ones, ascending
  OperandDims<0> dims;
  friend bool operator==(const DimsParams&, const DimsParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dims", s.dims);
  }
};
struct CumulativeParams {
  OperandDims<0> dim;
  bool reverse = false;
  friend bool operator==(const CumulativeParams&, const CumulativeParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dim", s.dim);
    f("reverse", s.reverse);
  }
};
struct DotParams {  // pairs of dims of lhs and rhs
  PairedDims contract, batch;
  friend bool operator==(const DotParams&, const DotParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("contract", s.contract);
    f("batch", s.batch);
  }
};
struct SortParams {  // by the first num_keys operands
  OperandDims<0> dim;
  int64_t num_keys = 1;
  bool descending = false;
  friend bool operator==(const SortParams&, const SortParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dim", s.dim);
    f("num_keys", s.num_keys);
    f("descending", s.descending);
  }
};
struct TopKParams {
  int64_t k = 1;
  friend bool operator==(const TopKParams&, const TopKParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("k", s.k);
  }
};

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
extern const OpDef kDotGeneral, kTridiagonalSolve;
// index.cc
extern const OpDef kTake, kSort, kTopK;
// mask.cc
extern const OpDef kMaskPadding;
// control.cc
extern const OpDef kWhileLoop, kScan, kCond, kSwitchCase;
// move.cc: between shardings; the collectives appear in device programs only
extern const OpDef kReshard, kImpliedReshard, kShardingConstraint, kPadToShards, kTrim,
    kHaloExchange, kAllSlice, kAllGather, kAllToAll, kCollectivePermute, kAllReduce, kReduceScatter,
    kReplicatedToUnreduced, kShardedToUnreduced;

}  // namespace tessera::ops

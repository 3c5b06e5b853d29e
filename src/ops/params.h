// Names and params of the ops that are not elementwise. Hash, text and parsing use the params' list
// of fields.
#pragma once
#include "ir/op.h"
#include "ir/params.h"
#include "tessera/lookup.h"

namespace tessera {

// Text, parsing and hash of a mode, as of every field of params.
std::string FieldText(LookupMode mode);
void ReadField(base::Reader& in, LookupMode& mode);
inline size_t FieldHash(size_t h, LookupMode mode) {
  return ir::MixHash(h, static_cast<uint64_t>(mode));
}

}  // namespace tessera

namespace tessera::ops {

using ir::BatchDims;
using ir::DimOfEach;
using ir::Literal;
using ir::OpDef;
using ir::OperandDims;
using ir::PairedDims;
using ir::PerDim;
using ir::ResultDims;
using ir::WindowDims;

// Names of values or of axes, as params.
struct NameList : std::vector<std::string> {
  using std::vector<std::string>::vector;
  NameList(std::vector<std::string> v) : std::vector<std::string>(std::move(v)) {}
};
std::string FieldText(const NameList& names);
void ReadField(base::Reader& in, NameList& names);
size_t FieldHash(size_t h, const NameList& names);

struct ConstantParams {  // one element; the result is a scalar
  Literal value;
  friend bool operator==(const ConstantParams&, const ConstantParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("value", s.value);
  }
};
struct IotaParams {  // the index along `dim` of the result; row-major over several dims
  ResultDims dim;
  friend bool operator==(const IotaParams&, const IotaParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dim", s.dim);
  }
};
struct TransposeParams {  // dim i of the result is dim perm[i] of the operand
  DimOfEach<OperandDims<0>> perm;
  friend bool operator==(const TransposeParams&, const TransposeParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("perm", s.perm);
  }
};
struct BroadcastParams {  // dim i of the operand is dim dims[i] of the result
  DimOfEach<ResultDims> dims;
  friend bool operator==(const BroadcastParams&, const BroadcastParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dims", s.dims);
  }
};
struct SliceParams {  // x[start:limit:stride], one entry per dim
  PerDim<0> starts;
  PerDim<ir::kWholeDim> limits;
  PerDim<1> strides;
  friend bool operator==(const SliceParams&, const SliceParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("starts", s.starts);
    f("limits", s.limits);
    f("strides", s.strides);
  }
};
struct PadParams {  // one entry per dim; low and high may be negative
  PerDim<0> low, high, interior;
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
struct RollParams {  // element i of the dim moves to i + shift, and wraps at the end
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
struct FourierParams {  // `n`: the elements of a transform, on its real side if it has one
  OperandDims<0> dim;
  int64_t n = 1;
  friend bool operator==(const FourierParams&, const FourierParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("dim", s.dim);
    f("n", s.n);
  }
};
struct WindowParams {  // one entry per dim; low and high, the padding, may be negative
  PerDim<1> sizes, strides;
  PerDim<0> low, high;
  PerDim<1> base_dilation, window_dilation;
  friend bool operator==(const WindowParams&, const WindowParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("sizes", s.sizes);
    f("strides", s.strides);
    f("low", s.low);
    f("high", s.high);
    f("base_dilation", s.base_dilation);
    f("window_dilation", s.window_dilation);
  }
};
struct DotParams {  // pairs of dims of lhs and rhs
  PairedDims contract;
  BatchDims<ir::Alone::kEither> batch;
  friend bool operator==(const DotParams&, const DotParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("contract", s.contract);
    f("batch", s.batch);
  }
};
// The dims of lhs and result are listed as batch, feature, spatial dims; those of rhs, the kernel,
// as output features, input features, spatial dims. The other lists have one entry per spatial dim.
struct ConvolutionParams {
  OperandDims<0> lhs;
  OperandDims<1> rhs;
  ResultDims out;
  PerDim<1> strides;
  PerDim<0> low, high;
  PerDim<1> lhs_dilation, rhs_dilation;
  // Groups do not meet. They are the major part of one of the first two listed dims of each array.
  int64_t groups = 1;
  int64_t lhs_groups = 1, rhs_groups = 0, out_groups = 1;
  friend bool operator==(const ConvolutionParams&, const ConvolutionParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("lhs", s.lhs);
    f("rhs", s.rhs);
    f("out", s.out);
    f("strides", s.strides);
    f("low", s.low);
    f("high", s.high);
    f("lhs_dilation", s.lhs_dilation);
    f("rhs_dilation", s.rhs_dilation);
    f("groups", s.groups);
    f("lhs_groups", s.lhs_groups);
    f("rhs_groups", s.rhs_groups);
    f("out_groups", s.out_groups);
  }
};
struct PrecisionParams {  // of the floating format to which numbers are rounded
  int64_t exponent_bits = 1, mantissa_bits = 0;
  friend bool operator==(const PrecisionParams&, const PrecisionParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("exponent_bits", s.exponent_bits);
    f("mantissa_bits", s.mantissa_bits);
  }
};
struct RaggedRowsParams {  // of one device
  int64_t operand_rows = 0, output_rows = 0;
  friend bool operator==(const RaggedRowsParams&, const RaggedRowsParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("operand_rows", s.operand_rows);
    f("output_rows", s.output_rows);
  }
};
struct SortParams {  // the first num_keys operands are the keys
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

struct TriangularSolveParams {  // op(a) x = b, or x op(a) = b
  bool left_side = false;
  bool lower = false;  // the triangle of a that is read
  bool transpose_a = false;
  bool conjugate_a = false;
  bool unit_diagonal = false;  // the diagonal of a is not read: it is 1
  friend bool operator==(const TriangularSolveParams&, const TriangularSolveParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("left_side", s.left_side);
    f("lower", s.lower);
    f("transpose_a", s.transpose_a);
    f("conjugate_a", s.conjugate_a);
    f("unit_diagonal", s.unit_diagonal);
  }
};
struct QrParams {
  bool full_matrices = false;  // q is square
  bool pivoting = false;       // columns are exchanged
  friend bool operator==(const QrParams&, const QrParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("full_matrices", s.full_matrices);
    f("pivoting", s.pivoting);
  }
};
struct PackedQrParams {
  bool pivoting = false;  // columns are exchanged
  friend bool operator==(const PackedQrParams&, const PackedQrParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("pivoting", s.pivoting);
  }
};
struct VectorsParams {  // eig, eigh, schur: whether the vectors are results too
  bool vectors = true;
  friend bool operator==(const VectorsParams&, const VectorsParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("vectors", s.vectors);
  }
};
struct SvdParams {
  bool compute_uv = true;
  bool full_matrices = false;  // u and vt are square
  friend bool operator==(const SvdParams&, const SvdParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("compute_uv", s.compute_uv);
    f("full_matrices", s.full_matrices);
  }
};
struct TridiagonalParams {
  bool lower = true;  // the triangle that is read
  friend bool operator==(const TridiagonalParams&, const TridiagonalParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("lower", s.lower);
  }
};

// How the dims of a lookup correspond. Index vectors, along the last dim of the indices, give the
// start of each slice in the operand. Slices are a gather's result or a scatter's updates. The
// other dims of the indices are, in order, those dims of the slices that are not windows.
struct LookupNumbers {
  const std::vector<int64_t>& windows;  // of the slices, ascending: the operand's other dims
  const std::vector<int64_t>& dropped;  // of the operand: a slice has one element and no dim there
  const std::vector<int64_t>& starts;   // of the operand, per entry of an index vector; else 0
  const PairedDims& batch;              // of operand and indices, in pairs
};
// `SliceDims`: the tensor whose dims the slices have. Their shape gives the size of a slice.
template <class SliceDims, ir::Alone alone>
struct LookupParams {
  WindowDims<SliceDims> windows;
  OperandDims<0> dropped, starts;
  BatchDims<alone> batch;
  LookupMode mode = LookupMode::kFill;
  bool sorted = false, unique = false;  // promises about the index vectors
  LookupNumbers numbers() const { return {windows, dropped, starts, batch}; }
  friend bool operator==(const LookupParams&, const LookupParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("windows", s.windows);
    f("dropped", s.dropped);
    f("starts", s.starts);
    f("batch", s.batch);
    f("mode", s.mode);
    f("sorted", s.sorted);
    f("unique", s.unique);
  }
};
using ScatterParams = LookupParams<OperandDims<2>, ir::Alone::kLhs>;
struct GatherParams : LookupParams<ResultDims, ir::Alone::kEither> {
  Literal fill;  // fills slices out of range, if the mode is kFill
  friend bool operator==(const GatherParams&, const GatherParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    LookupParams<ResultDims, ir::Alone::kEither>::Fields(s, f);
    f("fill", s.fill);
  }
};
struct BarrierParams {  // the directions in which shardings cross it
  bool forward = false, backward = false;
  friend bool operator==(const BarrierParams&, const BarrierParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("forward", s.forward);
    f("backward", s.backward);
  }
};
// make.cc
extern const OpDef kConstant, kIota;
// shape.cc
extern const OpDef kReshape, kTranspose, kBroadcastInDim, kBitcastConvertType, kOptimizationBarrier,
    kStopGradient;
// pieces.cc
extern const OpDef kSlice, kPad, kRev, kConcatenate, kRoll;
// dynamic.cc
extern const OpDef kDynamicSlice, kDynamicUpdateSlice;
// reduce.cc
extern const OpDef kReduceSum, kReduceProd, kReduceMax, kReduceMin, kReduceAnd, kReduceOr,
    kReduceXor, kArgmax, kArgmin;
extern const OpDef kCumsum, kCumprod, kCummax, kCummin, kCumlogsumexp;
// precision.cc
extern const OpDef kReducePrecision;
// windows.cc
extern const OpDef kReduceWindowSum, kReduceWindowProd, kReduceWindowMax, kReduceWindowMin,
    kReduceWindowAnd, kReduceWindowOr, kReduceWindowXor, kWindowTakeMax, kWindowTakeMin,
    kWindowPutMax, kWindowPutMin;
// convolution.cc
extern const OpDef kConvGeneralDilated;
// dot.cc
extern const OpDef kDotGeneral, kTridiagonalSolve;
// ragged.cc
extern const OpDef kRaggedDot, kRaggedContract;
// ragged_rows.cc
extern const OpDef kRaggedRows;
// factorisations.cc, orthogonal.cc, spectra.cc, similarity.cc
extern const OpDef kCholesky, kTriangularSolve, kLu, kQr, kPackedQr, kHouseholderProduct, kEigh,
    kEig, kSvd, kSchur, kHessenberg, kTridiagonal;
// fourier.cc
extern const OpDef kFft, kIfft, kRfft, kIrfft;
// sort.cc
extern const OpDef kSort, kTopK;
// gather.cc, scatter.cc
extern const OpDef kGather, kScatter, kScatterAdd, kScatterMul, kScatterMin, kScatterMax;
// mask.cc
extern const OpDef kMaskPadding;
// hints.cc
extern const OpDef kShardedLike, kPropagationBarrier;
// control.cc
extern const OpDef kWhileLoop, kScan, kCond, kSwitchCase;
// calls.cc
extern const OpDef kCheckpoint, kCustomJvp, kCustomVjp, kCustomLinear;
// linear_solve.cc
extern const OpDef kCustomLinearSolve;
// manual.cc: inside shard_map, and at its border
extern const OpDef kFullToShard, kShardToFull, kPcast, kAssumeInvariant, kPsum, kPmax, kPmin,
    kPsumScatter, kGatherShards, kSliceShard, kExchangeShards, kPpermute, kAxisIndex;
// move.cc: between shardings; the collectives appear in device programs only
extern const OpDef kReshard, kImpliedReshard, kShardingConstraint, kPadToShards, kTrim,
    kHaloExchange, kAllSlice, kAllGather, kAllToAll, kCollectivePermute, kAllReduce, kReduceScatter,
    kReplicatedToUnreduced, kShardedToUnreduced, kSeenAs, kCopyToEach;

}  // namespace tessera::ops

// Reductions, argmax and argmin.
#include "kernels/reduce/reduce.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/builder.h"
#include "kernels/reduce/arg_reduce.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_accumulator.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;
using reference::IntLess;
using reference::kInf;
using reference::Lanes;
using reference::Larger;
using reference::Order;
using reference::Smaller;
using reference::ZeroOrder;

using sharding::DimMap;
using sharding::FactorKind;

// Returns the map of an op that drops `dims`. They get factors like `dropped`.
DimMap DropDims(const ir::DimsCall& c, const std::vector<int64_t>& dims, sharding::Factor dropped) {
  DimMap map;
  sharding::DimFactors operand, result;
  for (size_t d = 0; d < c.operands[0]->size(); ++d) {
    sharding::Factor f = Has(dims, static_cast<int64_t>(d)) ? dropped : sharding::Factor{};
    f.size = (*c.operands[0])[d];
    operand.push_back({map.AddFactor(f)});
    if (f.kind == FactorKind::kPass) result.push_back(operand.back());
  }
  map.operands = {operand};
  map.results = {result};
  return map;
}

Shape Without(const Shape& shape, const std::vector<int64_t>& dims) {
  Shape kept;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!Has(dims, static_cast<int64_t>(d))) kept.push_back(shape[d]);
  return kept;
}

// C14: refuses a dtype that the reduction does not take.
template <Reduction r>
std::vector<ShapeAndDType> ReduceType(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& dims = ir::As<DimsParams>(c.params).dims;
  CheckDims(c, dims, c.operands[0]->rank());
  DType t = c.operands[0]->dtype();
  bool arithmetic = r == Reduction::kSum || r == Reduction::kProd;
  bool bits = r == Reduction::kAnd || r == Reduction::kOr || r == Reduction::kXor;
  if ((arithmetic && t.is_bool()) || (bits && t.is_inexact()))
    c.FailDType(14, fmt::format("it does not reduce {}", t.name()));
  return {{Without(c.operands[0]->shape(), dims), t}};
}

template <Reduction r>
DimMap ReduceDims(const ir::DimsCall& c) {
  DimMap map =
      DropDims(c, ir::As<DimsParams>(c.params).dims, {.kind = FactorKind::kReduce, .reduction = r});
  sharding::Kinds kinds{
      .sum = r == Reduction::kSum, .max = r == Reduction::kMax, .min = r == Reduction::kMin};
  map.linear = {{.operands = {0}, .kinds = kinds}};
  return map;
}

template <Reduction r>
void MakeReduce(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& dims = ir::As<DimsParams>(c.params).dims;
  *out = kernels::Reduce(c.operands[0].dtype, c.operands[0].shape, dims, r);
}

// Returns the dims of a tensor of this rank that are not in the list, ascending.
Coords OtherDims(size_t rank, const Coords& a) {
  Coords others;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (std::ranges::count(a, d) == 0) others.push_back(d);
  return others;
}

void ReduceReference(const ir::ReferenceCall& call) {
  const Reduction reduction = std::get<ir::AsReduction>(*call.op.lowering).reduction;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  const Coords kept = OtherDims(x.shape.size(), ir::As<DimsParams>(call.params).dims);
  std::vector<reference::ReferenceAccumulator> accumulators(out.size(), {reduction, x.dtype});
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t to = ir::FlatIndex(out.shape, reference::Pick(ir::CoordsOf(x.shape, i), kept));
    accumulators[to].Add(x, i);
  }
  for (int64_t i = 0; i < out.size(); ++i) accumulators[i].StoreTo(out, i);
}

template <Reduction r>
constexpr OpDef ReduceOp(const FamilyFields& f) {
  return {.name = f.name,
          .doc = f.doc,
          .type = ir::TypeFn{ReduceType<r>},
          .dims = ir::DimMapFn{ReduceDims<r>},
          .lowering = ir::AsReduction{r, MakeReduce<r>},
          .reference = *f.reference,
          .diff = *f.diff,
          .params = ir::KindOf<DimsParams>(),
          .flops_per_point = 1,
          .out_sharding = true};
}

// C14: refuses complex numbers. C17: there must be one dim. C18: refuses an empty dim. C19: the
// index dtype must be an integer.
std::vector<ShapeAndDType> ArgType(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& dim = ir::As<DimParams>(c.params).dim;
  if (c.operands[0]->dtype().is_complex())
    c.FailDType(14, fmt::format("{} has no order", c.operands[0]->dtype().name()));
  if (dim.size() != 1) c.FailShape(17, "it searches exactly one dim");
  CheckDims(c, dim, c.operands[0]->rank());
  if (c.operands[0]->shape()[dim[0]] == 0)
    c.FailShape(18,
                fmt::format("dim {} is empty: there is no largest or smallest element", dim[0]));
  DType index = c.wanted ? c.wanted->dtype : i32;
  if (!index.is_integer())
    c.FailDType(19, fmt::format("indices must be integers, not {}", index.name()));
  return {{Without(c.operands[0]->shape(), dim), index}};
}

DimMap ArgDims(const ir::DimsCall& c) {
  return DropDims(c, ir::As<DimParams>(c.params).dim, {.kind = FactorKind::kReduce});
}

template <bool largest>
void MakeArg(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::ArgReduce(c.operands[0].dtype, c.results[0].dtype, c.operands[0].shape,
                            ir::As<DimParams>(c.params).dim[0], largest);
}

// Result i is the position in line i of the element that `beats` every other, the first of ties.
template <class F>
void ArgReduce(const ir::ReferenceCall& call, F beats) {
  const HostTensor& x = *call.operands[0];
  const auto lanes = Lanes(x.shape, ir::As<DimParams>(call.params).dim[0]);
  for (size_t i = 0; i < lanes.size(); ++i) {
    size_t best = 0;
    for (size_t j = 1; j < lanes[i].size(); ++j)
      if (beats(x, lanes[i][j], lanes[i][best])) best = j;
    call.results[0]->SetInt(i, best);
  }
}

// NaN is above all numbers in Order, so it wins.
void ArgMaxReference(const ir::ReferenceCall& call) {
  ArgReduce(call, [](const HostTensor& x, int64_t i, int64_t best) {
    return Order(x, i, best, ZeroOrder::kEqual) > 0;
  });
}

void ArgMinReference(const ir::ReferenceCall& call) {
  ArgReduce(call, [](const HostTensor& x, int64_t i, int64_t best) {
    if (x.dtype.is_floating() && std::isnan(x.Float(best))) return false;
    if (x.dtype.is_floating() && std::isnan(x.Float(i))) return true;
    return Order(x, i, best, ZeroOrder::kEqual) < 0;
  });
}

// For a sharded dim: finds the least index at which the element equals the extreme or is NaN (then
// the extreme is NaN too). Both steps are reductions, which combine over devices.
template <bool largest>
std::vector<ir::ValueId> ExpandArg(ir::Builder& b, const ir::Params* params,
                                   absl::Span<const ir::ValueId> operands, const ir::Type* result) {
  ir::ValueId x = operands[0];
  const ir::Type* type = b.type(x);
  sharding::TensorSharding laid_out = type->sharding();
  laid_out.reduced.clear();
  std::vector<int64_t> dim = ir::As<DimParams>(params).dim, kept;
  for (int64_t d = 0; d < type->rank(); ++d)
    if (d != dim[0]) kept.push_back(d);
  auto dims = ir::MakeParams(DimsParams{dim});
  ir::ValueId extreme = b.Emit(largest ? kReduceMax : kReduceMin, dims, {x});
  ShapeAndDType full{type->shape(), type->dtype()};
  ir::ValueId spread = b.Emit(kBroadcastInDim, ir::MakeParams(BroadcastParams{kept}), {extreme},
                              {.wanted = &full, .out_sharding = &type->sharding()});
  ir::ValueId hit = b.Emit(Elementwise(ScalarOp::kEq), nullptr, {x, spread});
  if (type->dtype().is_floating())
    hit = b.Emit(Elementwise(ScalarOp::kOr), nullptr,
                 {hit, b.Emit(Elementwise(ScalarOp::kNe), nullptr, {x, x})});
  ShapeAndDType counting{type->shape(), result->dtype()};
  ir::ValueId index = b.Emit(kIota, ir::MakeParams(IotaParams{dim}), {},
                             {.wanted = &counting, .out_sharding = &laid_out});
  ir::HostTensor last(result->dtype(), {1});
  last.SetInt(0, type->shape()[dim[0]] - 1);
  Literal literal{result->dtype(), {}};
  absl::c_copy(last.data, literal.bits.data());
  ir::ValueId none = b.Emit(kConstant, ir::MakeParams(ConstantParams{literal}), {});
  ir::ValueId miss = b.Emit(kBroadcastInDim, ir::MakeParams(BroadcastParams{}), {none},
                            {.wanted = &counting, .out_sharding = &laid_out});
  ir::ValueId candidates = b.Emit(Elementwise(ScalarOp::kSelect), nullptr, {hit, miss, index});
  return {b.Emit(kReduceMin, dims, {candidates})};
}

template <bool largest>
constexpr OpDef ArgOp(const FamilyFields& f) {
  return {.name = f.name,
          .doc = f.doc,
          .type = ir::TypeFn{ArgType},
          .dims = ir::DimMapFn{ArgDims},
          .lowering = ir::AsKernel{MakeArg<largest>, ExpandArg<largest>},
          .reference = *f.reference,
          .diff = *f.diff,
          .params = ir::KindOf<DimParams>(),
          .flops_per_point = 2};
}

// ---- Derivatives --------------------------------------------------------------------------------

// Returns a reduced value repeated along the dims, as a value of the type `like`.
X RepeatedAlong(ir::Builder& b, ir::ValueId v, const std::vector<int64_t>& dims,
                const ir::Type* like) {
  BroadcastParams params;
  for (int64_t d = 0; d < like->rank(); ++d)
    if (absl::c_find(dims, d) == dims.end()) params.dims.push_back(d);
  const ir::Type* type = like->WithDType(b.type(v)->dtype())->WithWeak(false);
  return {b, b.EmitTyped(kBroadcastInDim, ir::MakeParams(std::move(params)), {v}, {&type, 1})[0]};
}
X Reduced(const OpDef& op, X x, const std::vector<int64_t>& dims) {
  return {x.builder(), x.builder().Emit(op, ir::MakeParams(DimsParams{dims}), {x.id()})};
}

ir::ValueId SumTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const auto& dims = ir::As<DimsParams>(c.params.get()).dims;
  return RepeatedAlong(c.builder, cotangent, dims, CotangentTypeOf(c, 0)).id();
}

// Averages the tangent over all elements that are the extreme.
ir::ValueId ReducedExtremeTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  const auto& dims = ir::As<DimsParams>(c.params.get()).dims;
  const X x(c.builder, c.operands[0]), g(c.builder, tangent);
  const X is_extreme = Equal(x, RepeatedAlong(c.builder, c.results[0], dims, c.operand_types[0]));
  const X share = Where(is_extreme, x.Number(1), x.Number(0));
  const X count = Reduced(kReduceSum, share, dims);
  // No element is the extreme of nothing, or equals NaN.
  const X divisor = Apply(ScalarOp::kMax, {count, count.Number(1)});
  return (Reduced(kReduceSum, g * share, dims) / divisor).id();
}

X RunningProduct(X x, int64_t dim, bool reverse) {
  const CumulativeParams params{{dim}, reverse};
  return {x.builder(), x.builder().Emit(kCumprod, ir::MakeParams(params), {x.id()})};
}
// Returns the product of all elements before each one, and the product of all after it.
X ProductBefore(X x, int64_t dim) {
  return Shifted(RunningProduct(x, dim, /*reverse=*/false), dim, 1, 1);
}
X ProductAfter(X x, int64_t dim) {
  return Shifted(RunningProduct(x, dim, /*reverse=*/true), dim, -1, 1);
}
X WithWhole(X x, int64_t dim) {
  sharding::TensorSharding whole = x.type()->sharding();
  whole.dims[dim].axes.clear();
  return {x.builder(), Conform(x.builder(), x.id(), x.type()->WithSharding(std::move(whole)))};
}

// Goes dim by dim, and never divides by a factor, which may be 0.
ir::ValueId ProductTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  std::vector<int64_t> dims = ir::As<DimsParams>(c.params.get()).dims;
  X x(c.builder, c.operands[0]), t(c.builder, tangent);
  for (; !dims.empty(); dims.pop_back()) {
    const int64_t d = dims.back();
    x = WithWhole(x, d), t = WithWhole(t, d);
    t = Reduced(kReduceSum, t * (ProductBefore(x, d) * ProductAfter(x, d)), {d});
    x = Reduced(kReduceProd, x, {d});
  }
  return t.id();
}

}  // namespace

constexpr OpDef kReduceSum =
    ReduceOp<Reduction::kSum>({.name = "reduce_sum",
                               .doc = "Sum over dims.",
                               .reference = ReduceReference,
                               .diff = ir::Derivative{.transpose = SumTranspose}});
constexpr OpDef kReduceProd =
    ReduceOp<Reduction::kProd>({.name = "reduce_prod",
                                .doc = "Product over dims.",
                                .reference = ReduceReference,
                                .diff = ir::Derivative{.of = {ProductTangent}}});
constexpr OpDef kReduceMax =
    ReduceOp<Reduction::kMax>({.name = "reduce_max",
                               .doc = "Largest over dims; NaN wins.",
                               .reference = ReduceReference,
                               .diff = ir::Derivative{.of = {ReducedExtremeTangent}}});
constexpr OpDef kReduceMin =
    ReduceOp<Reduction::kMin>({.name = "reduce_min",
                               .doc = "Smallest over dims; NaN wins.",
                               .reference = ReduceReference,
                               .diff = ir::Derivative{.of = {ReducedExtremeTangent}}});
constexpr OpDef kReduceAnd = ReduceOp<Reduction::kAnd>({.name = "reduce_and",
                                                        .doc = "Bitwise and over dims.",
                                                        .reference = ReduceReference,
                                                        .diff = kZeroAlmostEverywhere});
constexpr OpDef kReduceOr = ReduceOp<Reduction::kOr>({.name = "reduce_or",
                                                      .doc = "Bitwise or over dims.",
                                                      .reference = ReduceReference,
                                                      .diff = kZeroAlmostEverywhere});
constexpr OpDef kReduceXor = ReduceOp<Reduction::kXor>({.name = "reduce_xor",
                                                        .doc = "Bitwise exclusive or over dims.",
                                                        .reference = ReduceReference,
                                                        .diff = kZeroAlmostEverywhere});
constexpr OpDef kArgmax = ArgOp<true>({.name = "argmax",
                                       .doc = "Index of the first largest element; NaN wins.",
                                       .reference = ArgMaxReference,
                                       .diff = kZeroAlmostEverywhere});
constexpr OpDef kArgmin = ArgOp<false>({.name = "argmin",
                                        .doc = "Index of the first smallest element; NaN wins.",
                                        .reference = ArgMinReference,
                                        .diff = kZeroAlmostEverywhere});
Records ReduceOps() {
  static constexpr const OpDef* kOps[] = {&kReduceSum, &kReduceProd, &kReduceMax,
                                          &kReduceMin, &kReduceAnd,  &kReduceOr,
                                          &kReduceXor, &kArgmax,     &kArgmin};
  return kOps;
}

}  // namespace tessera::ops

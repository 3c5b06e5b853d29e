// Ops that give the same elements another shape, order or dtype.
#include "base/shape.h"

#include <absl/algorithm/container.h>

#include "kernels/copy/copy.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"
#include "ops/rule_builder.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;

using sharding::DimMap;

// C17: the new shape must be given. C18: it must have as many elements as the operand.
std::vector<ShapeAndDType> ReshapeType(const TypeCall& c) {
  CheckCount(c, 1);
  if (!c.wanted) c.FailShape(17, "the new shape is not given");
  const Shape& from = c.operands[0]->shape();
  if (ir::CheckedElements(c.wanted->shape) != c.operands[0]->elements())
    c.FailShape(
        18, fmt::format("{} elements of shape {} do not fill the shape {}",
                        c.operands[0]->elements(), ShapeText(from), ShapeText(c.wanted->shape)));
  return {{c.wanted->shape, c.operands[0]->dtype()}};
}

DimMap ReshapeDims(const ir::DimsCall& c) {
  return sharding::ReshapeMap(*c.operands[0], *c.results[0]);
}

std::vector<ShapeAndDType> TransposeType(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& perm = ir::As<TransposeParams>(c.params).perm;
  const Shape& from = c.operands[0]->shape();
  CheckDims(c, perm, c.operands[0]->rank());
  if (perm.size() != from.size())
    c.FailShape(17, fmt::format("the permutation must name all {1} dims of the array, not {0}",
                                perm.size(), from.size()));
  Shape shape;
  for (int64_t d : perm) shape.push_back(from[d]);
  return {{shape, c.operands[0]->dtype()}};
}

// One factor per dim of the result, in the result's order.
DimMap TransposeDims(const ir::DimsCall& c) {
  const auto& perm = ir::As<TransposeParams>(c.params).perm;
  DimMap map = sharding::Pointwise({}, *c.results[0]);
  sharding::DimFactors operand(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) operand[perm[d]] = map.results[0][d];
  map.operands = {operand};
  map.linear = {{.operands = {0}, .kinds = sharding::kAnyKind}};
  return map;
}

void MakeTranspose(const ir::LocalCall& c, plan::Kernel* out) {
  std::vector<int64_t> in = base::DenseStrides(c.operands[0].shape), moved;
  for (int64_t d : ir::As<TransposeParams>(c.params).perm) moved.push_back(in[d]);
  const Shape& box = c.results[0].shape;
  *out = kernels::Copy({.itemsize = c.results[0].dtype.size(),
                        .box = box,
                        .in_strides = moved,
                        .out_strides = base::DenseStrides(box),
                        .out_size = base::Elements(box)});
}

void TransposeReference(const ir::ReferenceCall& call) {
  const auto& perm = ir::As<TransposeParams>(call.params).perm;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const Coords to = ir::CoordsOf(out.shape, i);
    Coords from(to.size());
    for (size_t d = 0; d < to.size(); ++d) from[perm[d]] = to[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, from));
  }
}

// C17: the shape must be given. C18: each dim of the operand must name a dim of the result, in
// ascending order. C19: it must have size 1, or the size of that dim.
std::vector<ShapeAndDType> BroadcastType(const TypeCall& c) {
  CheckCount(c, 1);
  if (!c.wanted) c.FailShape(17, "the new shape is not given");
  const auto& dims = ir::As<BroadcastParams>(c.params).dims;
  const Shape &from = c.operands[0]->shape(), &to = c.wanted->shape;
  CheckDims(c, dims, static_cast<int64_t>(to.size()));
  if (dims.size() != from.size() || !absl::c_is_sorted(dims))
    c.FailShape(18, fmt::format("each of the {} dims of the operand needs a dim of the result, in "
                                "ascending order, not {}",
                                from.size(), ShapeText(dims)));
  for (size_t d = 0; d < from.size(); ++d) {
    int64_t size = to[dims[d]];
    if (from[d] != size && from[d] != 1)
      c.FailShape(19, fmt::format("dim {} of size {} cannot become size {}", d, from[d], size));
  }
  return {{to, c.operands[0]->dtype()}};
}

// One factor per dim of the result. A dim of size 1 that is repeated has a factor of its own
// before it.
DimMap BroadcastDims(const ir::DimsCall& c) {
  const auto& dims = ir::As<BroadcastParams>(c.params).dims;
  const Shape &from = *c.operands[0], &to = *c.results[0];
  DimMap map;
  sharding::DimFactors operand, result;
  for (size_t d = 0; d < to.size(); ++d) {
    bool mapped = operand.size() < dims.size() && dims[operand.size()] == static_cast<int64_t>(d);
    bool repeated = mapped && from[operand.size()] != to[d];
    if (repeated) operand.push_back({map.AddFactor({.size = 1})});
    result.push_back({map.AddFactor({.size = to[d]})});
    if (mapped && !repeated) operand.push_back(result.back());
  }
  map.operands = {operand};
  map.results = {result};
  map.linear = {{.operands = {0}, .kinds = sharding::kAnyKind}};
  return map;
}

void MakeBroadcast(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& dims = ir::As<BroadcastParams>(c.params).dims;
  const Shape &from = c.operands[0].shape, &to = c.results[0].shape;
  std::vector<int64_t> own = base::DenseStrides(from), in(to.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d)
    if (from[d] != 1) in[dims[d]] = own[d];
  *out = kernels::Copy({.itemsize = c.results[0].dtype.size(),
                        .box = to,
                        .in_strides = in,
                        .out_strides = base::DenseStrides(to),
                        .out_size = base::Elements(to)});
}

void BroadcastInDimReference(const ir::ReferenceCall& call) {
  const auto& dims = ir::As<BroadcastParams>(call.params).dims;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const Coords to = ir::CoordsOf(out.shape, i);
    Coords from(x.shape.size());
    for (size_t d = 0; d < from.size(); ++d) from[d] = x.shape[d] == 1 ? 0 : to[dims[d]];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, from));
  }
}

// C17: the dtype must be given. C18: for a wider dtype, the size of the last dim must be the
// ratio of the dtypes. The result lacks this dim; for a narrower dtype the result has it. C19:
// refuses bool.
std::vector<ShapeAndDType> BitcastType(const TypeCall& c) {
  CheckCount(c, 1);
  if (!c.wanted || c.wanted->dtype.is_default()) c.FailDType(17, "the dtype is not given");
  DType from = c.operands[0]->dtype(), to = c.wanted->dtype;
  if (from.is_bool() != to.is_bool())
    c.FailDType(19, "bool cannot be bitcast to or from another dtype");
  if (from != to && (from.bits() < 8 || to.bits() < 8))
    c.FailDType(19, fmt::format("{} cannot be bitcast to {}: elements of fewer than 8 bits are "
                                "stored in a byte each",
                                from.name(), to.name()));
  if (from != to && (from.is_complex() || to.is_complex()))
    c.FailDType(19, "complex numbers cannot be bitcast to or from another dtype");
  Shape shape = c.operands[0]->shape();
  if (from.size() > to.size()) shape.push_back(from.size() / to.size());
  if (from.size() < to.size()) {
    int64_t ratio = to.size() / from.size();
    if (shape.empty() || shape.back() != ratio)
      c.FailShape(18, fmt::format("{} of {} to {} needs a last dim of size {}", ShapeText(shape),
                                  from.name(), to.name(), ratio));
    shape.pop_back();
  }
  return {{shape, to}};
}

// The dim that elements split into, or are joined from, is a factor of one side alone.
DimMap BitcastDims(const ir::DimsCall& c) {
  const Shape &in = *c.operands[0], &out = *c.results[0];
  const Shape& common = in.size() < out.size() ? in : out;
  DimMap map = sharding::Pointwise({&common}, common);
  auto add = [&](sharding::DimFactors& dims, int64_t size, sharding::FactorKind kind) {
    dims.push_back({map.AddFactor({.size = size, .kind = kind})});
  };
  // JAX drops the axes of the joined dim: it is gathered.
  if (in.size() > out.size()) add(map.operands[0], in.back(), sharding::FactorKind::kPermute);
  if (in.size() < out.size()) add(map.results[0], out.back(), sharding::FactorKind::kReplicate);
  return map;
}

// ---- Derivatives --------------------------------------------------------------------------------

ir::ValueId ReshapeTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return AsCotangent(c, 0, kReshape, nullptr, {cotangent});
}

ir::ValueId TransposeTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const auto& perm = ir::As<TransposeParams>(c.params.get()).perm;
  TransposeParams inverse;
  inverse.perm.resize(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) inverse.perm[perm[d]] = static_cast<int64_t>(d);
  return c.builder.Emit(kTranspose, ir::MakeParams(std::move(inverse)), {cotangent});
}

std::vector<ir::ValueId> NoTangents(const ir::DiffCall& c, absl::Span<const ir::ValueId>,
                                    std::vector<ir::ValueId>&) {
  return std::vector<ir::ValueId>(c.results.size(), ir::kNoValue);
}

std::vector<ir::ValueId> Itself(ir::Builder&, const ir::Params*,
                                absl::Span<const ir::ValueId> operands, const ir::Type*) {
  return {operands[0]};
}

// Sums over the dims along which elements were repeated.
ir::ValueId BroadcastTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const auto& dims = ir::As<BroadcastParams>(c.params.get()).dims;
  const Shape &from = c.operand_types[0]->shape(), &to = c.result_types[0]->shape();
  DimsParams summed;
  for (int64_t d = 0; d < static_cast<int64_t>(to.size()); ++d) {
    const auto at = absl::c_find(dims, d);
    const bool repeated = at == dims.end() || from[at - dims.begin()] != to[d];
    if (repeated) summed.dims.push_back(d);
  }
  return SumTo(c.builder, cotangent, summed, CotangentTypeOf(c, 0));
}

}  // namespace

constexpr OpDef kReshape{.name = "reshape",
                         .doc = "The elements in row-major order under another shape.",
                         .type = ir::TypeFn{ReshapeType},
                         .dims = ir::DimMapFn{ReshapeDims},
                         .lowering = ir::AsView{},
                         .reference = ir::ReferenceFn{reference::CopyElements},
                         .diff = ir::Derivative{.transpose = ReshapeTranspose},
                         .out_sharding = true,
                         .keys = true,
                         .travel = ir::Travel::kEarly,
                         .foldable = true};
constexpr OpDef kTranspose{.name = "transpose",
                           .doc = "The dims in another order.",
                           .type = ir::TypeFn{TransposeType},
                           .dims = ir::DimMapFn{TransposeDims},
                           .lowering = ir::AsKernel{MakeTranspose},
                           .reference = ir::ReferenceFn{TransposeReference},
                           .diff = ir::Derivative{.transpose = TransposeTranspose},
                           .params = ir::KindOf<TransposeParams>(),
                           .keys = true,
                           .travel = ir::Travel::kEarly};
constexpr OpDef kBroadcastInDim{.name = "broadcast_in_dim",
                                .doc = "Elements repeated along new dims and dims of size 1.",
                                .type = ir::TypeFn{BroadcastType},
                                .dims = ir::DimMapFn{BroadcastDims},
                                .lowering = ir::AsBroadcast{MakeBroadcast},
                                .reference = ir::ReferenceFn{BroadcastInDimReference},
                                .diff = ir::Derivative{.transpose = BroadcastTranspose},
                                .params = ir::KindOf<BroadcastParams>(),
                                .out_sharding = true,
                                .keys = true};
constexpr OpDef kBitcastConvertType{.name = "bitcast_convert_type",
                                    .doc = "The same bits as elements of another dtype.",
                                    .type = ir::TypeFn{BitcastType},
                                    .dims = ir::DimMapFn{BitcastDims},
                                    .lowering = ir::AsView{},
                                    .reference = ir::ReferenceFn{reference::CopyElements},
                                    .diff = kZeroAlmostEverywhere,
                                    .keys = true,
                                    .travel = ir::Travel::kElementwise};
constexpr OpDef kOptimizationBarrier{.name = "optimization_barrier",
                                     .doc = "x; nothing is moved or merged across it.",
                                     .type = ir::TypeFn{TypeOfOperand},
                                     .dims = ir::DimMapFn{LinearInFirst},
                                     .lowering = ir::AsView{},
                                     .reference = ir::ReferenceFn{reference::CopyElements},
                                     .diff = ir::Derivative{.transpose = Same},
                                     .keys = true,
                                     .opaque = true,
                                     .travel = ir::Travel::kAsOne};

constexpr OpDef kStopGradient{.name = "stop_gradient",
                              .doc = "x, which derivatives treat as a constant.",
                              .type = ir::TypeFn{TypeOfOperand},
                              .dims = ir::DimMapFn{LinearInFirst},
                              .lowering = ir::AsExpansion{Itself},
                              .reference = ir::ReferenceFn{reference::CopyElements},
                              .diff = ir::Structural{NoTangents},
                              .keys = true,
                              .travel = ir::Travel::kElementwise};

Records ShapeOps() {
  static constexpr const OpDef* kOps[] = {
      &kReshape,     &kTranspose, &kBroadcastInDim, &kBitcastConvertType, &kOptimizationBarrier,
      &kStopGradient};
  return kOps;
}

}  // namespace tessera::ops

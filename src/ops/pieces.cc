// Ops that cut, join and place pieces at positions known while tracing. A dim that keeps its size
// passes through; along any other, positions matter (permute factors).
#include "ops/pieces.h"

#include <absl/algorithm/container.h>

#include "base/shape.h"
#include "kernels/copy/concatenate.h"
#include "kernels/copy/copy.h"
#include "ops/batching.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/laid_out.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;

using sharding::DimMap;
using sharding::FactorKind;

// Records how dim d of an operand is read, if position along it matters.
void AddAccess(DimMap& map, size_t operand, size_t d, sharding::Access access) {
  access.operand = static_cast<int32_t>(operand);
  access.factor = map.operands[operand][d][0];
  if (map.factors[access.factor].kind != FactorKind::kPass) map.accesses.push_back(access);
}

// C17: lists must have one entry per dim. C18: 0 <= start <= limit <= size and stride >= 1
// must hold.
std::vector<ShapeAndDType> SliceType(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& p = ir::As<SliceParams>(c.params);
  const Shape& from = c.operands[0]->shape();
  if (p.starts.size() != from.size() || p.limits.size() != from.size() ||
      p.strides.size() != from.size())
    c.FailShape(17,
                fmt::format("the array has rank {}, but the numbers of starts, limits and strides "
                            "are {}, {} and {}",
                            from.size(), p.starts.size(), p.limits.size(), p.strides.size()));
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d) {
    if (p.starts[d] < 0 || p.limits[d] > from[d] || p.starts[d] > p.limits[d] || p.strides[d] < 1)
      c.FailShape(18, fmt::format("[{}:{}:{}] is not inside dim {} of size {}", p.starts[d],
                                  p.limits[d], p.strides[d], d, from[d]));
    shape.push_back((p.limits[d] - p.starts[d] + p.strides[d] - 1) / p.strides[d]);
  }
  return {{shape, c.operands[0]->dtype()}};
}

DimMap SliceDims(const ir::DimsCall& c) {
  const auto& p = ir::As<SliceParams>(c.params);
  DimMap map = CutDims(c);
  for (size_t d = 0; d < p.starts.size(); ++d)
    AddAccess(map, 0, d, {.offset = p.starts[d], .stride = p.strides[d]});
  return map;
}

void MakeSlice(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<SliceParams>(c.params);
  const Shape &from = c.operands[0].shape, &box = c.results[0].shape;
  std::vector<int64_t> in = base::DenseStrides(from);
  int64_t offset = 0;
  for (size_t d = 0; d < box.size(); ++d) {
    offset += p.starts[d] * in[d];
    in[d] *= p.strides[d];
  }
  *out = kernels::Copy({.itemsize = c.results[0].dtype.size(),
                        .box = box,
                        .in_strides = in,
                        .out_strides = base::DenseStrides(box),
                        .in_offset = offset,
                        .out_size = base::Elements(box)});
}

void SliceReference(const ir::ReferenceCall& call) {
  const auto& params = ir::As<SliceParams>(call.params);
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    for (size_t d = 0; d < at.size(); ++d) at[d] = params.starts[d] + at[d] * params.strides[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, at));
  }
}

// C17: lists must have one entry per dim. C18: the padding value must be a scalar. C19: interior
// padding and sizes must not be negative.
std::vector<ShapeAndDType> PadType(const TypeCall& c) {
  CheckCount(c, 2);
  CheckSameDType(c);
  const auto& p = ir::As<PadParams>(c.params);
  const Shape& from = c.operands[0]->shape();
  if (p.low.size() != from.size() || p.high.size() != from.size() ||
      p.interior.size() != from.size())
    c.FailShape(17, fmt::format("the array has rank {}, but the number of paddings is {}",
                                from.size(), p.low.size()));
  if (c.operands[1]->rank() != 0) c.FailShape(18, "the padding value must be a scalar");
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d) {
    int64_t between = 0, size = 0;
    bool fits =
        p.interior[d] >= 0 &&
        !__builtin_mul_overflow(std::max<int64_t>(from[d] - 1, 0), p.interior[d], &between) &&
        !__builtin_add_overflow(from[d], between, &size) &&
        !__builtin_add_overflow(size, p.low[d], &size) &&
        !__builtin_add_overflow(size, p.high[d], &size);
    if (!fits || size < 0)
      c.FailShape(
          19,
          fmt::format("padding with low {}, high {} and interior {} does not fit dim {} of size {}",
                      p.low[d], p.high[d], p.interior[d], d, from[d]));
    shape.push_back(size);
  }
  return {{shape, c.operands[0]->dtype()}};
}

DimMap PadDims(const ir::DimsCall& c) {
  const auto& p = ir::As<PadParams>(c.params);
  DimMap map = PieceDims(
      c, 1, [&](size_t d) { return p.low[d] || p.high[d] || p.interior[d]; }, FactorKind::kAcross);
  map.linear[0].operands = {0, 1};
  for (size_t d = 0; d < p.low.size(); ++d)
    AddAccess(map, 0, d, {.offset = -p.low[d], .dilation = p.interior[d] + 1});
  map.traits.selectors = {1};
  return map;
}

// Pads an operand whose elements all equal one number: selects by position between that number and
// the padding value.
std::vector<ir::ValueId> PadOfScalar(ir::Builder& b, const ir::Params* params,
                                     absl::Span<const ir::ValueId> operands,
                                     const ir::Type* result) {
  const auto& p = ir::As<PadParams>(params);
  LaidOut values(b, result);
  DType t = result->dtype();
  ir::ValueId x = operands[0];
  for (size_t d = 0; d < p.low.size(); ++d) {
    if (!p.low[d] && !p.high[d] && !p.interior[d]) continue;
    auto keep = [&](const OpDef& compare, ir::ValueId at, int64_t bound) {
      ir::ValueId inside = values.Apply(compare, {at, values.Integer(bound)}, bool_);
      x = values.Apply(Elementwise(ScalarOp::kSelect), {inside, operands[1], x}, t);
    };
    ir::ValueId at =
        values.Apply(Elementwise(ScalarOp::kSub),
                     {values.Index(static_cast<int64_t>(d)), values.Integer(p.low[d])}, i64);
    keep(Elementwise(ScalarOp::kGe), at, 0);
    keep(Elementwise(ScalarOp::kLt), at, result->shape()[d] - p.low[d] - p.high[d]);
    if (p.interior[d])
      keep(Elementwise(ScalarOp::kEq),
           values.Apply(Elementwise(ScalarOp::kRem), {at, values.Integer(p.interior[d] + 1)}, i64),
           0);
  }
  if (x == operands[0])  // no padding
    x = values.Apply(kBroadcastInDim, {x}, t, ir::MakeParams(BroadcastParams{}));
  return {x};
}

// The part of the operand that is kept is one box. Negative padding cuts it.
void MakePad(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<PadParams>(c.params);
  const Shape &from = c.operands[0].shape, &to = c.results[0].shape;
  std::vector<int64_t> in = base::DenseStrides(from), to_strides = base::DenseStrides(to),
                       box(from.size()), step = to_strides;
  int64_t in_offset = 0, out_offset = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    int64_t pitch = p.interior[d] + 1;
    int64_t first = p.low[d] >= 0 ? 0 : (-p.low[d] + pitch - 1) / pitch;
    // The last element inside the result.
    int64_t room = to[d] - 1 - p.low[d];
    int64_t last = room < 0 ? -1 : std::min(from[d] - 1, room / pitch);
    box[d] = std::max<int64_t>(last - first + 1, 0);
    in_offset += first * in[d];
    out_offset += (p.low[d] + first * pitch) * to_strides[d];
    step[d] = to_strides[d] * pitch;
  }
  if (base::Elements(box) == 0) in_offset = out_offset = 0;
  *out = kernels::Copy({.itemsize = c.results[0].dtype.size(),
                        .box = box,
                        .in_strides = in,
                        .out_strides = step,
                        .in_offset = in_offset,
                        .out_offset = out_offset,
                        .out_size = base::Elements(to),
                        .fill = true});
}

// Operands: x and the padding value.
void PadReference(const ir::ReferenceCall& call) {
  const auto& params = ir::As<PadParams>(call.params);
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) out.SetFrom(i, *call.operands[1], 0);
  for (int64_t i = 0; i < x.size(); ++i) {
    Coords at = ir::CoordsOf(x.shape, i);
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      at[d] = params.low[d] + at[d] * (params.interior[d] + 1);
      inside = inside && at[d] >= 0 && at[d] < out.shape[d];
    }
    if (inside) out.SetFrom(ir::FlatIndex(out.shape, at), x, i);
  }
}

std::vector<ShapeAndDType> RevType(const TypeCall& c) {
  CheckCount(c, 1);
  CheckDims(c, ir::As<DimsParams>(c.params).dims, c.operands[0]->rank());
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}

DimMap RevDims(const ir::DimsCall& c) {
  const auto& dims = ir::As<DimsParams>(c.params).dims;
  DimMap map = PieceDims(c, 1, [&](size_t d) { return Has(dims, static_cast<int64_t>(d)); });
  for (size_t d = 0; d < c.operands[0]->size(); ++d)
    AddAccess(map, 0, d, {.offset = (*c.operands[0])[d] - 1, .stride = -1});
  return map;
}

void MakeRev(const ir::LocalCall& c, plan::Kernel* out) {
  const Shape& box = c.results[0].shape;
  std::vector<int64_t> in = base::DenseStrides(box);
  int64_t offset = 0;
  for (int64_t dim : ir::As<DimsParams>(c.params).dims) {
    offset += std::max<int64_t>(box[dim] - 1, 0) * in[dim];
    in[dim] = -in[dim];
  }
  *out = kernels::Copy({.itemsize = c.results[0].dtype.size(),
                        .box = box,
                        .in_strides = in,
                        .out_strides = base::DenseStrides(box),
                        .in_offset = offset,
                        .out_size = base::Elements(box)});
}

void RevReference(const ir::ReferenceCall& call) {
  const auto& dims = ir::As<DimsParams>(call.params).dims;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    for (int64_t d : dims) at[d] = out.shape[d] - 1 - at[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, at));
  }
}

// C17: there must be an operand. C18: ranks must be equal, and so must sizes, except along the
// joined dim.
std::vector<ShapeAndDType> ConcatenateType(const TypeCall& c) {
  if (c.operands.empty()) c.FailShape(17, "there is nothing to join");
  CheckSameDType(c);
  const auto& dim = ir::As<DimParams>(c.params).dim;
  if (dim.size() != 1) c.FailShape(12, "it joins exactly one dim");
  CheckDims(c, dim, c.operands[0]->rank());
  Shape shape = c.operands[0]->shape();
  size_t joined = dim[0];
  for (size_t i = 1; i < c.operands.size(); ++i) {
    Shape other = c.operands[i]->shape();
    bool fits = other.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = d == joined || other[d] == shape[d];
    if (!fits)
      c.FailShape(18, fmt::format("shapes {} and {} cannot be joined along dim {}",
                                  ShapeText(c.operands[0]->shape()), ShapeText(other), joined));
    if (__builtin_add_overflow(shape[joined], other[joined], &shape[joined]))
      c.FailShape(2, "the result would have more than 2^59 elements");
  }
  return {{shape, c.operands[0]->dtype()}};
}

DimMap ConcatenateDims(const ir::DimsCall& c) {
  size_t dim = ir::As<DimParams>(c.params).dim[0];
  DimMap map = PieceDims(c, c.operands.size(), [&](size_t d) { return d == dim; });
  map.factors[dim].size = (*c.results[0])[dim];  // of all pieces together
  int64_t begin = 0;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    AddAccess(map, i, dim, {.offset = -begin});
    begin += (*c.operands[i])[dim];
  }
  return map;
}

void MakeConcatenate(const ir::LocalCall& c, plan::Kernel* out) {
  std::vector<Shape> shapes;
  for (const ir::LocalTensor& t : c.operands) shapes.push_back(t.shape);
  *out =
      kernels::Concatenate(c.results[0].dtype.size(), shapes, ir::As<DimParams>(c.params).dim[0]);
}

void ConcatenateReference(const ir::ReferenceCall& call) {
  const int64_t dim = ir::As<DimParams>(call.params).dim[0];
  HostTensor& out = *call.results[0];
  int64_t begin = 0;
  for (const HostTensor* x : call.operands) {
    for (int64_t i = 0; i < x->size(); ++i) {
      Coords at = ir::CoordsOf(x->shape, i);
      at[dim] += begin;
      out.SetFrom(ir::FlatIndex(out.shape, at), *x, i);
    }
    begin += x->shape[dim];
  }
}

// C12: the dim must exist. C17: the shift must be less than its size.
std::vector<ShapeAndDType> RollType(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& p = ir::As<RollParams>(c.params);
  if (p.dim.size() != 1) c.FailShape(12, "it rolls exactly one dim");
  CheckDims(c, p.dim, c.operands[0]->rank());
  int64_t size = c.operands[0]->shape()[p.dim[0]];
  if (p.shift < 0 || p.shift > std::max<int64_t>(size - 1, 0))
    c.FailShape(17, fmt::format("a dim of size {} can be rolled by 0 to {}, not by {}", size,
                                std::max<int64_t>(size - 1, 0), p.shift));
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}

// The result begins with the end of the operand.
DimMap RollDims(const ir::DimsCall& c) {
  const auto& p = ir::As<RollParams>(c.params);
  size_t dim = p.dim[0];
  DimMap map = PieceDims(c, 1, [&](size_t d) { return d == dim; });
  AddAccess(map, 0, dim, {.offset = (*c.operands[0])[dim] - p.shift});
  AddAccess(map, 0, dim, {.offset = -p.shift});
  return map;
}

void MakeRoll(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<RollParams>(c.params);
  *out = kernels::Roll(c.results[0].dtype.size(), c.results[0].shape, p.dim[0], p.shift);
}

void RollReference(const ir::ReferenceCall& call) {
  const auto& params = ir::As<RollParams>(call.params);
  const auto dim = params.dim[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    at[dim] = (at[dim] + params.shift) % out.shape[dim];
    out.SetFrom(ir::FlatIndex(out.shape, at), *call.operands[0], i);
  }
}

// ---- Batching -----------------------------------------------------------------------------------

// For a padding value that differs by batch element: pads with zeros, and pads a mask that marks
// the elements.
std::vector<ir::ValueId> PadBatch(const ir::BatchCall& c) {
  if (!c.mapped[1]) return ByDims(c);
  ir::Builder& b = c.builder;
  const auto padded = [&](ir::ValueId x, const ir::Type* from, double fill) {
    const DType dtype = b.type(x)->dtype();
    const ir::ValueId number = Filled(b, fill, ir::Type::Get({}, dtype, from->mesh()));
    const ir::Type *types[] = {from->WithDType(dtype), b.type(number)},
                   *result = c.result_types[0]->WithDType(dtype);
    return ByDims({b, c.op, c.params, {{x, number}}, {true, false}, types, {&result, 1}, c.dim})[0];
  };
  const ir::Type* from = c.operand_types[0];
  const X inside(b, padded(Filled(b, 1, WithDim(from, c.dim)->WithDType(bool_)), from, 0));
  const X fill(b, RepeatedLike(b, c.operands[1], WithDim(c.result_types[0], c.dim)));
  return {Where(inside, X(b, padded(WithDim(c, 0), from, 0)), fill).id()};
}

// ---- Derivatives --------------------------------------------------------------------------------

ir::ValueId Zero(const ir::DiffCall& c) {
  return X(c.builder,
           Filled(c.builder, 0,
                  ir::Type::Get({}, c.result_types[0]->dtype(), c.result_types[0]->mesh())))
      .id();
}

// Puts the cotangent back where the slice took it.
ir::ValueId SliceTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const auto& p = ir::As<SliceParams>(c.params.get());
  const Shape &whole = c.operand_types[0]->shape(), &part = c.result_types[0]->shape();
  PadParams pad;
  for (size_t d = 0; d < whole.size(); ++d) {
    const int64_t taken = part[d] == 0 ? 0 : (part[d] - 1) * p.strides[d] + 1;
    pad.low.push_back(p.starts[d]);
    pad.high.push_back(whole[d] - p.starts[d] - taken);
    pad.interior.push_back(p.strides[d] - 1);
  }
  return OfOtherSize(c, 0, kPad, ir::MakeParams(std::move(pad)), {cotangent, Zero(c)});
}

// Returns the operand's cotangent: the cotangent's elements between the padding.
ir::ValueId OfPadded(const ir::DiffCall& c, ir::ValueId cotangent) {
  const auto& p = ir::As<PadParams>(c.params.get());
  PadParams cut;
  SliceParams slice;
  const Shape& inner = c.operand_types[0]->shape();
  for (size_t d = 0; d < inner.size(); ++d) {
    const int64_t step = p.interior[d] + 1, spread = inner[d] == 0 ? 0 : (inner[d] - 1) * step + 1;
    cut.low.push_back(-p.low[d]);
    cut.high.push_back(-p.high[d]);
    cut.interior.push_back(0);
    slice.starts.push_back(0);
    slice.limits.push_back(spread);
    slice.strides.push_back(step);
  }
  const bool spreads = absl::c_any_of(p.interior, [](int64_t n) { return n; });
  auto params = ir::MakeParams(std::move(cut));
  if (!spreads) return OfOtherSize(c, 0, kPad, params, {cotangent, Zero(c)});
  // Between the two steps such a dim has another size, which need not divide.
  const ir::Type* type = c.builder.type(cotangent);
  sharding::TensorSharding layout = type->sharding();
  for (size_t d = 0; d < inner.size(); ++d)
    if (slice.limits[d] != type->shape()[d] || p.interior[d]) layout.dims[d].axes.clear();
  const ir::ValueId whole = Conform(c.builder, cotangent, type->WithSharding(std::move(layout)));
  const ir::ValueId cut_out = c.builder.Emit(kPad, params, {whole, Zero(c)});
  return OfOtherSize(c, 0, kSlice, ir::MakeParams(std::move(slice)), {cut_out});
}
ir::ValueId PadTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const ir::ValueId inner = OfPadded(c, cotangent);
  if (k == 0) return inner;
  const ir::Type* scalar = CotangentTypeOf(c, 1);
  const X all(c.builder, Conform(c.builder, cotangent, scalar));
  return (all - X(c.builder, Conform(c.builder, inner, scalar))).id();
}

ir::ValueId RevTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return AsCotangent(c, 0, kRev, c.params, {cotangent});
}

ir::ValueId ConcatenateTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const auto dim = base::Size(ir::As<DimParams>(c.params.get()).dim[0]);
  int64_t begin = 0;
  for (size_t i = 0; i < k; ++i) begin += c.operand_types[i]->shape()[dim];
  const Shape& shape = c.operand_types[k]->shape();
  return OfOtherSize(c, k, kSlice, SliceAlong(shape, dim, begin, begin + shape[dim]), {cotangent});
}

ir::ValueId RollTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  RollParams back = ir::As<RollParams>(c.params.get());
  const int64_t size = c.operand_types[0]->shape()[back.dim[0]];
  back.shift = back.shift == 0 ? 0 : size - back.shift;
  return AsCotangent(c, 0, kRoll, ir::MakeParams(std::move(back)), {cotangent});
}

}  // namespace

ir::ParamsPtr PadAlong(size_t rank, size_t dim, int64_t low, int64_t high) {
  PadParams pad;
  pad.low.resize(rank), pad.high.resize(rank), pad.interior.resize(rank);
  pad.low[dim] = low, pad.high[dim] = high;
  return ir::MakeParams(std::move(pad));
}
ir::ParamsPtr SliceAlong(const base::Shape& shape, size_t dim, int64_t begin, int64_t end) {
  SliceParams slice;
  slice.starts.resize(shape.size());
  slice.limits.assign(shape.begin(), shape.end());
  slice.strides.resize(shape.size(), 1);
  slice.starts[dim] = begin, slice.limits[dim] = end;
  return ir::MakeParams(std::move(slice));
}

constexpr OpDef kSlice{.name = "slice",
                       .doc = "x[start:limit:stride] in every dim.",
                       .type = ir::TypeFn{SliceType},
                       .dims = ir::DimMapFn{SliceDims},
                       .lowering = ir::AsKernel{MakeSlice},
                       .reference = ir::ReferenceFn{SliceReference},
                       .diff = ir::Derivative{.transpose = SliceTranspose},
                       .params = ir::KindOf<SliceParams>(),
                       .keys = true,
                       .foldable = true};
constexpr OpDef kPad{.name = "pad",
                     .doc = "Puts a value around an array and between its elements.",
                     .type = ir::TypeFn{PadType},
                     .dims = ir::DimMapFn{PadDims},
                     .lowering = ir::AsKernel{MakePad, nullptr, PadOfScalar},
                     .reference = ir::ReferenceFn{PadReference},
                     .diff = ir::Derivative{.transpose = PadTranspose},
                     .params = ir::KindOf<PadParams>(),
                     .batch = PadBatch,
                     .keys = true,
                     .operand_names = {"operand", "value", ""}};
constexpr OpDef kRev{.name = "rev",
                     .doc = "The elements along dims in reverse order.",
                     .type = ir::TypeFn{RevType},
                     .dims = ir::DimMapFn{RevDims},
                     .lowering = ir::AsKernel{MakeRev},
                     .reference = ir::ReferenceFn{RevReference},
                     .diff = ir::Derivative{.transpose = RevTranspose},
                     .params = ir::KindOf<DimsParams>(),
                     .keys = true};
constexpr OpDef kConcatenate{.name = "concatenate",
                             .doc = "Arrays joined along a dim.",
                             .type = ir::TypeFn{ConcatenateType},
                             .dims = ir::DimMapFn{ConcatenateDims},
                             .lowering = ir::AsKernel{MakeConcatenate},
                             .reference = ir::ReferenceFn{ConcatenateReference},
                             .diff = ir::Derivative{.transpose = ConcatenateTranspose},
                             .params = ir::KindOf<DimParams>(),
                             .keys = true,
                             .operand_names = {"", "", ""}};
constexpr OpDef kRoll{
    .name = "roll",
    .doc = "The elements of a dim shifted by `shift`; the last ones wrap to its front.",
    .type = ir::TypeFn{RollType},
    .dims = ir::DimMapFn{RollDims},
    .lowering = ir::AsKernel{MakeRoll},
    .reference = ir::ReferenceFn{RollReference},
    .diff = ir::Derivative{.transpose = RollTranspose},
    .params = ir::KindOf<RollParams>(),
    .keys = true};
Records PieceOps() {
  static constexpr const OpDef* kOps[] = {&kSlice, &kPad, &kRev, &kConcatenate, &kRoll};
  return kOps;
}

}  // namespace tessera::ops

// Slices and updates at positions that are known only at run time.
#include <absl/algorithm/container.h>

#include <algorithm>
#include <numeric>

#include "kernels/index/dynamic_slice.h"
#include "ops/batching.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/pieces.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;

using sharding::DimMap;
using sharding::FactorKind;

// C17: there must be one integer scalar start per dim, all of one dtype.
void CheckStarts(const TypeCall& c, size_t first) {
  size_t rank = c.operands[0]->shape().size();
  if (c.operands.size() != first + rank)
    c.FailShape(17, fmt::format("an array of rank {} needs {} start indices, not {}", rank, rank,
                                c.operands.size() - std::min(first, c.operands.size())));
  for (size_t i = first; i < c.operands.size(); ++i) {
    CheckInteger(c, i);
    if (c.operands[i]->rank() != 0) c.FailShape(17, "start indices must be scalars");
  }
  for (size_t i = first + 1; i < c.operands.size(); ++i)
    if (const DType one = c.operands[first]->dtype(), t = c.operands[i]->dtype(); t != one)
      c.FailDType(13, fmt::format("start indices have different dtypes, {} and {}: convert one of "
                                  "them, e.g. with .astype({})",
                                  one.name(), t.name(), one.name()));
}

void CheckSizes(const TypeCall& c, const Shape& sizes) {
  const Shape& from = c.operands[0]->shape();
  bool fits = sizes.size() == from.size();
  for (size_t d = 0; fits && d < from.size(); ++d) fits = sizes[d] >= 0 && sizes[d] <= from[d];
  if (!fits)
    c.FailShape(18, fmt::format("a piece of shape {} does not fit into {}", ShapeText(sizes),
                                ShapeText(from)));
}

std::vector<ShapeAndDType> DynamicSliceType(const TypeCall& c) {
  if (c.operands.empty()) CheckCount(c, 1);
  CheckStarts(c, 1);
  if (!c.wanted) c.FailShape(19, "the sizes are not given");
  CheckSizes(c, c.wanted->shape);
  return {{c.wanted->shape, c.operands[0]->dtype()}};
}

std::vector<int32_t> OperandsFrom(const ir::DimsCall& c, int32_t first) {
  std::vector<int32_t> list;
  for (auto i = first; i < static_cast<int32_t>(c.operands.size()); ++i) list.push_back(i);
  return list;
}

// Marks the dims in which an operand or result is a piece: where the piece begins is known only at
// run time.
void AddPlaces(DimMap& map, int32_t operand) {
  for (size_t f = 0; f < map.factors.size(); ++f)
    if (map.factors[f].kind != FactorKind::kPass)
      map.accesses.push_back(
          {.operand = operand, .factor = static_cast<int32_t>(f), .at_run_time = true});
}

// Axes of a cut dim say nothing about the slice, so nothing propagates through it.
DimMap DynamicSliceDims(const ir::DimsCall& c) {
  DimMap map = CutDims(c);
  for (sharding::Factor& f : map.factors) f.blocked = f.kind == FactorKind::kPermute;
  AddPlaces(map, 0);
  map.traits.selectors = OperandsFrom(c, 1);
  return map;
}

// Describes where a piece of an array may begin, and where the devices' parts of the array begin.
kernels::WindowDesc Window(const ir::LocalTensor& whole, const ir::LocalTensor& piece,
                           DType index) {
  kernels::WindowDesc window{.itemsize = whole.dtype.size(),
                             .index = index,
                             .shape = whole.shape,
                             .sizes = piece.shape,
                             .last = {},
                             .begins = {}};
  for (size_t d = 0; d < whole.shape.size(); ++d) {
    window.last.push_back(whole.global[d] - piece.global[d]);
    // A dim that the piece covers is laid out as in the piece.
    window.begins.push_back(window.last[d] == 0 ? std::vector<int64_t>() : ShardBegins(whole, d));
  }
  return window;
}

void MakeDynamicSlice(const ir::LocalCall& c, plan::Kernel* out) {
  DType index = c.operands.size() > 1 ? c.operands[1].dtype : i32;
  *out = kernels::DynamicSlice(Window(c.operands[0], c.results[0], index));
}

// Returns the clamped start of a slice of `sizes` in operand 0, from the
// scalars operands[first...].
Coords Starts(const ir::ReferenceCall& call, size_t first, const base::Shape& sizes) {
  const HostTensor& x = *call.operands[0];
  Coords starts;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t start = reference::IndexAt(*call.operands[first + d], 0);
    starts.push_back(std::clamp<int64_t>(start, 0, x.shape[d] - sizes[d]));
  }
  return starts;
}

// Operands: x, then one scalar start per dim.
void DynamicSliceReference(const ir::ReferenceCall& call) {
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  const Coords starts = Starts(call, 1, out.shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    Coords at = ir::CoordsOf(out.shape, i);
    for (size_t d = 0; d < at.size(); ++d) at[d] += starts[d];
    out.SetFrom(i, x, ir::FlatIndex(x.shape, at));
  }
}

std::vector<ShapeAndDType> DynamicUpdateSliceType(const TypeCall& c) {
  if (c.operands.size() < 2) CheckCount(c, 2);
  CheckStarts(c, 2);
  if (c.operands[0]->dtype() != c.operands[1]->dtype()) FailMixed(c, 0, 1);
  CheckSizes(c, c.operands[1]->shape());
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}

// Any device may write to a dim that is updated in part.
DimMap DynamicUpdateSliceDims(const ir::DimsCall& c) {
  const Shape& piece = *c.operands[1];
  DimMap map = PieceDims(
      c, 2, [&](size_t d) { return (*c.operands[0])[d] != piece[d]; }, FactorKind::kAcross);
  AddPlaces(map, 1);
  map.traits.selectors = OperandsFrom(c, 2);
  return map;
}

void MakeDynamicUpdateSlice(const ir::LocalCall& c, plan::Kernel* out) {
  DType index = c.operands.size() > 2 ? c.operands[2].dtype : i32;
  *out = kernels::DynamicUpdateSlice(Window(c.operands[0], c.operands[1], index));
}

// Operands: x, the update, then one scalar start per dim.
void DynamicUpdateSliceReference(const ir::ReferenceCall& call) {
  const HostTensor& update = *call.operands[1];
  HostTensor& out = *call.results[0];
  out.data = call.operands[0]->data;
  const Coords starts = Starts(call, 2, update.shape);
  for (int64_t i = 0; i < update.size(); ++i) {
    Coords at = ir::CoordsOf(update.shape, i);
    for (size_t d = 0; d < at.size(); ++d) at[d] += starts[d];
    out.SetFrom(ir::FlatIndex(out.shape, at), update, i);
  }
}

// ---- Batching -----------------------------------------------------------------------------------

// The lookup that replaces a slice whose start differs by batch element. Its windows are
// whole pieces.
struct AsLookup {
  std::vector<int64_t> along;  // dims in which the piece is smaller than the array
  ir::ValueId vectors;         // [batch, along]
};

// `first`: the operand with the first start. `part`: the shape of the piece.
AsLookup LookupOf(const ir::BatchCall& c, size_t first, const Shape& part) {
  AsLookup out;
  const Shape& whole = c.operand_types[0]->shape();
  for (size_t d = 0; d < part.size(); ++d)
    if (part[d] != whole[d]) out.along.push_back(static_cast<int64_t>(d));
  if (out.along.empty()) out.along = {0};
  std::vector<ir::ValueId> starts;
  for (int64_t d : out.along) {
    const size_t k = first + d;
    sharding::TensorSharding s = sharding::Replicated(c.operand_types[0]->mesh(), 1);
    s.TakeSets(c.operand_types[k]->sharding());
    const ir::Type* column =
        WithDim(ir::Type::Get({1}, c.operand_types[k]->dtype(), std::move(s)), c.dim);
    starts.push_back(c.builder.EmitTyped(kReshape, nullptr, {WithDim(c, k)}, {&column, 1})[0]);
  }
  out.vectors = starts.size() == 1
                    ? starts[0]
                    : c.builder.Emit(kConcatenate, ir::MakeParams(DimParams{{1}}), starts);
  return out;
}

std::vector<int64_t> AllDims(const Shape& shape) {
  std::vector<int64_t> dims(shape.size());
  absl::c_iota(dims, 0);
  return dims;
}
bool StartsDiffer(const ir::BatchCall& c, size_t first) {
  return std::find(c.mapped.begin() + static_cast<long>(first), c.mapped.end(), true) !=
         c.mapped.end();
}

// Applies the same op along a whole batch dim, for starts that all batch elements share.
std::vector<ir::ValueId> WithWholeDim(const ir::BatchCall& c, size_t first) {
  std::vector<ir::ValueId> operands;
  for (size_t k = 0; k < first; ++k) operands.push_back(WithDim(c, k));
  const bool has_starts = c.operands.size() > first;
  operands.push_back(Filled(c.builder, 0,
                            ir::Type::Get({}, has_starts ? c.operand_types[first]->dtype() : i32,
                                          c.operand_types[0]->mesh())));
  operands.insert(operands.end(), c.operands.begin() + static_cast<long>(first), c.operands.end());
  const ir::Type* type = WithDim(c.result_types[0], c.dim);
  return {c.builder.EmitTyped(c.op, nullptr, operands, {&type, 1})[0]};
}

std::vector<ir::ValueId> DynamicSliceBatch(const ir::BatchCall& c) {
  if (!StartsDiffer(c, 1)) return WithWholeDim(c, 1);
  const ir::Type* result = c.result_types[0];
  const AsLookup lookup = LookupOf(c, 1, result->shape());
  GatherParams p;
  p.windows = AllDims(result->shape());
  p.starts = lookup.along;
  p.mode = LookupMode::kClip;
  p.fill = {result->dtype(), 0};
  const ir::Type* type = WithDim(result, c.dim);
  return {c.builder.EmitTyped(
      kGather, ir::MakeParams(std::move(p))->Mapped({{c.mapped[0], true}, c.dim.size}),
      {c.operands[0], lookup.vectors}, {&type, 1})[0]};
}

std::vector<ir::ValueId> DynamicUpdateSliceBatch(const ir::BatchCall& c) {
  if (!StartsDiffer(c, 2)) return WithWholeDim(c, 2);
  const Shape& part = c.operand_types[1]->shape();
  const AsLookup lookup = LookupOf(c, 2, part);
  ScatterParams p;
  p.windows = AllDims(part);
  p.starts = lookup.along;
  p.mode = LookupMode::kClip;
  p.sorted = p.unique = true;
  const ir::Type* type = WithDim(c.result_types[0], c.dim);
  return {c.builder.EmitTyped(
      kScatter, ir::MakeParams(std::move(p))->Mapped({{true, true, true}, c.dim.size}),
      {WithDim(c, 0), lookup.vectors, WithDim(c, 1)}, {&type, 1})[0]};
}

// ---- Derivatives --------------------------------------------------------------------------------

// Returns the operands, followed by the starts: the scalars from operand `first` on.
std::vector<ir::ValueId> WithStarts(const ir::DiffCall& c, size_t first,
                                    std::vector<ir::ValueId> operands) {
  operands.insert(operands.end(), c.operands.begin() + static_cast<long>(first), c.operands.end());
  return operands;
}
ir::ValueId DynamicSliceTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const ir::ValueId zeros = Zeros(c.builder, CotangentTypeOf(c, 0));
  return c.builder.Emit(kDynamicUpdateSlice, nullptr, WithStarts(c, 1, {zeros, cotangent}));
}
ir::ValueId UpdateTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  if (k == 1) return OfOtherSize(c, 1, kDynamicSlice, nullptr, WithStarts(c, 2, {cotangent}));
  const ir::ValueId zeros = ZerosBeside(c.builder, cotangent, CotangentTypeOf(c, 1));
  return c.builder.Emit(kDynamicUpdateSlice, nullptr, WithStarts(c, 2, {cotangent, zeros}));
}

}  // namespace

constexpr OpDef kDynamicSlice{
    .name = "dynamic_slice",
    .doc = "The slice at the start indices, which are clamped so that it fits.",
    .type = ir::TypeFn{DynamicSliceType},
    .dims = ir::DimMapFn{DynamicSliceDims},
    .lowering = ir::AsKernel{MakeDynamicSlice},
    .reference = ir::ReferenceFn{DynamicSliceReference},
    .diff = ir::Derivative{.transpose = DynamicSliceTranspose},
    .batch = DynamicSliceBatch,
    .keys = true,
    .travel = ir::Travel::kEarlyForward,
    .operand_names = {"operand", "", ""}};
constexpr OpDef kDynamicUpdateSlice{.name = "dynamic_update_slice",
                                    .doc = "An array with the slice at the start indices replaced.",
                                    .type = ir::TypeFn{DynamicUpdateSliceType},
                                    .dims = ir::DimMapFn{DynamicUpdateSliceDims},
                                    .lowering = ir::AsKernel{MakeDynamicUpdateSlice},
                                    .reference = ir::ReferenceFn{DynamicUpdateSliceReference},
                                    .diff = ir::Derivative{.transpose = UpdateTranspose},
                                    .batch = DynamicUpdateSliceBatch,
                                    .keys = true,
                                    .travel = ir::Travel::kEarlyForward,
                                    .operand_names = {"operand", "update", ""}};

Records DynamicOps() {
  static constexpr const OpDef* kOps[] = {&kDynamicSlice, &kDynamicUpdateSlice};
  return kOps;
}

}  // namespace tessera::ops

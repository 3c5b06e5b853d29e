// Gather: slices of an array, at positions that indices give.
#include "kernels/index/gather.h"

#include <absl/algorithm/container.h>

#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/lookup.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using sharding::DimMap;

const GatherParams& GatherParamsOf(const ir::Params* params) {
  return ir::As<GatherParams>(params);
}

// C13: the fill must have the operand's dtype. C19: the result's shape must be given, and no
// looked-up dim may be empty.
std::vector<ShapeAndDType> GatherType(const TypeCall& c) {
  CheckCount(c, 2);
  CheckInteger(c, 1);
  const GatherParams& p = GatherParamsOf(c.params);
  if (!c.wanted) c.FailShape(19, "the shape of the result is not given");
  const DType dtype = c.operands[0]->dtype();
  if (p.fill.dtype != dtype)
    c.FailDType(13, fmt::format("slices of {} are filled with {}", dtype.name(),
                                p.fill.dtype.is_default() ? "nothing" : p.fill.dtype.name()));
  const LookupShapes shapes{c.operands[0]->shape(), c.operands[1]->shape(), c.wanted->shape};
  CheckLookup(c, p.numbers(), shapes, "result");
  const bool empty = absl::c_count(shapes.slices, 0) != 0;
  for (int64_t d : p.dropped)
    if (shapes.operand[d] == 0 && !empty)
      c.FailShape(19, fmt::format("dim {} is empty: there is nothing to take", d));
  return {{shapes.slices, dtype}};
}

DimMap GatherDims(const ir::DimsCall& c) {
  const LookupShapes shapes{*c.operands[0], *c.operands[1], *c.results[0]};
  DimMap map = LookupDims(RolesOf(GatherParamsOf(c.params).numbers(), shapes), shapes,
                          /*scatters=*/false, /*query=*/{});
  map.linear = {{.operands = {0}}};
  return map;
}

// Slices out of range are filled once: on one of the devices whose results are summed.
void MakeGather(const ir::LocalCall& c, plan::Kernel* out) {
  const GatherParams& p = GatherParamsOf(c.params);
  const ir::LocalTensor &operand = c.operands[0], &indices = c.operands[1], &slices = c.results[0];
  const LookupRoles roles = RolesOf(p.numbers(), {operand.global, indices.global, slices.global});
  sharding::AxisList partial = operand.sharding->unreduced;
  for (size_t d = 0; d < roles.operand.size(); ++d) {
    const std::optional<size_t>& window = roles.operand[d].window;
    const bool whole = window && slices.global[*window] == operand.global[d];
    const sharding::AxisList& axes = operand.sharding->dims[d].axes;
    if (!whole && !roles.is_batch(d)) partial.insert(partial.end(), axes.begin(), axes.end());
  }
  const LookupMode mode = p.mode == LookupMode::kPromise ? LookupMode::kClip : p.mode;
  *out = kernels::Gather(LocalLookup(roles, operand, indices, slices, mode, c.mesh, partial),
                         p.fill.bits);
}

void GatherReference(const ir::ReferenceCall& c) {
  const GatherParams& p = GatherParamsOf(c.params);
  const ir::HostTensor &operand = *c.operands[0], &indices = *c.operands[1];
  ir::HostTensor& out = *c.results[0];
  const LookupMode mode = p.mode == LookupMode::kPromise ? LookupMode::kClip : p.mode;
  ForEachLookup(p.numbers(), {operand.shape, indices.shape, out.shape}, indices, mode,
                [&](int64_t slice, int64_t from) {
                  if (from >= 0)
                    out.SetFrom(slice, operand, from);
                  else
                    reference::SetBits(out, slice, p.fill.bits);
                });
}

// ---- Derivatives --------------------------------------------------------------------------------

// The fill is constant: its tangent is 0.
ir::ValueId GatherTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  GatherParams p = GatherParamsOf(c.params.get());
  p.fill.bits = {};
  const ir::Type* type = c.result_types[0]->WithWeak(false);
  return c.builder.EmitTyped(kGather, ir::MakeParams(std::move(p)), {tangent, c.operands[1]},
                             {&type, 1})[0];
}
ir::ValueId GatherTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  const ir::Type* to = CotangentTypeOf(c, 0);
  const GatherParams& p = GatherParamsOf(c.params.get());
  // Where the indices shard a batch dim over axes that `to` is unreduced over, the sums start from
  // zeros that are sharded likewise.
  sharding::TensorSharding start = to->sharding();
  for (size_t i = 0; i < p.batch.lhs.size(); ++i) {
    const auto& dims = c.builder.type(c.operands[1])->sharding().dims;
    const sharding::AxisList& axes = dims[p.batch.rhs[i]].axes;
    if (sharding::Difference(start.unreduced, axes) == start.unreduced) continue;
    start.unreduced = sharding::Difference(start.unreduced, axes);
    start.dims[p.batch.lhs[i]].axes = axes;
  }
  const ir::ValueId zeros = Zeros(c.builder, to->WithSharding(std::move(start)));
  return EmitSums(c.builder, kScatterAdd, ir::MakeParams(AsScatter(p)),
                  {zeros, c.operands[1], cotangent}, to);
}

}  // namespace

constexpr OpDef kGather{.name = "gather",
                        .doc = "Slices at positions given by index vectors.",
                        .type = ir::TypeFn{GatherType},
                        .dims = ir::DimMapFn{GatherDims},
                        .lowering = ir::AsKernel{MakeGather},
                        .reference = ir::ReferenceFn{GatherReference},
                        .diff = ir::Derivative{.of = {GatherTangent}, .transpose = GatherTranspose},
                        .params = ir::KindOf<GatherParams>(),
                        .out_sharding = true,
                        .keys = true,
                        .operand_names = {"operand", "indices", ""}};

Records GatherOps() {
  static constexpr const OpDef* kOps[] = {&kGather};
  return kOps;
}

}  // namespace tessera::ops

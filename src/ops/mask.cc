// mask_padding: the padding of a dim that does not divide, on the last devices, must reach
// no result.
#include "ir/move_params.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/laid_out.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

std::vector<ShapeAndDType> MaskType(const TypeCall& c) {
  CheckCount(c, 1);
  CheckDims(c, ir::As<ir::MaskParams>(c.params).dims, c.operands[0]->rank());
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}

std::vector<ir::ValueId> ExpandMask(ir::Builder& b, const ir::Params* params,
                                    absl::Span<const ir::ValueId> operands, const ir::Type*) {
  const auto& mask = ir::As<ir::MaskParams>(params);
  ir::ValueId x = operands[0];
  const ir::Type* type = b.type(x);
  LaidOut values(b, type);
  DType t = type->dtype();
  ir::ValueId fill = values.Number(IdentityOf(mask.reduction, t), t);
  for (int64_t d : mask.dims) {
    ir::ValueId end = values.Integer(type->shape()[d]);
    ir::ValueId inside = values.Apply(Elementwise(ScalarOp::kLt), {values.Index(d), end}, bool_);
    x = b.EmitTyped(Elementwise(ScalarOp::kSelect), nullptr, {inside, fill, x}, {&type, 1})[0];
  }
  return {x};
}

}  // namespace

constexpr OpDef kMaskPadding{
    .name = "mask_padding",
    .doc = "Overwrites padding with a reduction's identity.",
    .type = ir::TypeFn{MaskType},
    .dims = ir::NoRule{"only lowering creates it, for values that have a layout"},
    .lowering = ir::AsExpansion{ExpandMask},
    .reference = ir::ReferenceFn{reference::CopyElements},
    .diff = kOnDevicesOnly,
    .params = ir::KindOf<ir::MaskParams>()};

Records MaskOps() {
  static constexpr const OpDef* kOps[] = {&kMaskPadding};
  return kOps;
}

}  // namespace tessera::ops

// What lies behind the end of a dim that does not divide, on the last devices, must reach no
// result.
#include "base/defaults.h"
#include "ir/builder.h"
#include "ir/move_params.h"
#include "kernels/reduce_elements.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference.h"
#include "spmd/moves.h"

namespace tessera::ops {
namespace {

std::vector<ShapeAndDType> MaskType(const TypeCall& c) {
  CheckCount(c, 1);
  CheckDims(c, ir::As<ir::MaskParams>(c.params).dims, c.operands[0]->rank());
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}

ir::ParamsPtr LiteralOf(const ir::HostTensor& one) {
  Literal literal{one.dtype, 0};
  std::copy(one.data.begin(), one.data.end(), reinterpret_cast<std::byte*>(&literal.bits));
  return ir::MakeParams(ConstantParams{literal});
}

// What a reduction takes no notice of.
ir::ParamsPtr Identity(DType t, Reduction reduction) {
  plan::Reduction r = spmd::ToPlan(reduction);
  ir::HostTensor one(t, {1});
  base::VisitDType(t, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      one.SetInt(0, static_cast<int64_t>(kernels::ReductionIdentity<T>(r)));
    else
      one.SetFloat(0, kernels::ReductionIdentity<double>(r));
  });
  return LiteralOf(one);
}

// Types are given, not inferred: the typing rule refuses sizes that do not divide.
std::vector<ir::ValueId> ExpandMask(ir::Builder& b, const ir::Params* params,
                                    absl::Span<const ir::ValueId> operands, const ir::Type*) {
  const auto& mask = ir::As<ir::MaskParams>(params);
  ir::ValueId x = operands[0];
  const ir::Type* type = b.type(x);
  sharding::TensorSharding laid_out = type->sharding();
  laid_out.unreduced.clear();
  laid_out.reduced.clear();
  auto full = [&](DType t) { return ir::Type::Get(type->shape(), t, laid_out); };
  auto emit = [&](const OpDef& op, ir::ParamsPtr p, absl::Span<const ir::ValueId> of,
                  const ir::Type* as) {
    return b.EmitTyped(op, std::move(p), of, {&as, 1})[0];
  };
  auto spread = [&](ir::ParamsPtr literal, DType t) {
    ir::ValueId one = emit(kConstant, std::move(literal), {}, ir::Type::Get({}, t));
    return emit(kBroadcastInDim, ir::MakeParams(BroadcastParams{}), {one}, full(t));
  };
  DType t = type->dtype();
  ir::ValueId fill = spread(Identity(t, static_cast<Reduction>(mask.reduction)), t);
  for (int64_t d : mask.dims) {
    ir::HostTensor end(i64, {1});
    end.SetInt(0, type->shape()[static_cast<size_t>(d)]);
    ir::ValueId index = emit(kIota, ir::MakeParams(IotaParams{{d}}), {}, full(i64));
    ir::ValueId inside = emit(kLt, nullptr, {index, spread(LiteralOf(end), i64)}, full(bool_));
    x = emit(kSelectN, nullptr, {inside, fill, x}, type);
  }
  return {x};
}

}  // namespace

constexpr OpDef kMaskPadding{.name = "mask_padding",
                             .doc = "A reduction's identity behind the end of dims.",
                             .type = ir::TypeFn{MaskType},
                             .dims = ir::NoRule{"lowering makes it, of a value that is placed"},
                             .lowering = ir::Expand{ExpandMask},
                             .reference = ir::ReferenceFn{reference::Identity},
                             .params = ir::KindOf<ir::MaskParams>()};

}  // namespace tessera::ops

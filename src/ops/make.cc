// Ops without operands.
#include "kernels/kernels.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::HostTensor;

sharding::DimMap FreeDims(const ir::DimsCall& c) { return sharding::Pointwise({}, *c.results[0]); }

std::vector<ShapeAndDType> ConstantType(const TypeCall& c) {
  CheckCount(c, 0);
  return {{{}, ir::As<ConstantParams>(c.params).value.dtype}};
}

void ConstantReference(const ir::ReferenceCall& call) {
  const Literal& value = ir::As<ConstantParams>(call.params).value;
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) reference::SetBits(out, i, value.bits);
}

// C17: shape and dtype are given. C18: the dtype counts.
std::vector<ShapeAndDType> IotaType(const TypeCall& c) {
  CheckCount(c, 0);
  if (!c.wanted) c.FailShape(17, "the shape is not given");
  const auto& dim = ir::As<IotaParams>(c.params).dim;
  if (dim.size() != 1) c.FailShape(12, "it counts along one dim");
  CheckDims(c, dim, static_cast<int64_t>(c.wanted->shape.size()));
  if (c.wanted->dtype.is_bool()) c.FailDType(18, "bools cannot count");
  return {*c.wanted};
}

void MakeIota(const ir::LocalCall& c, plan::Kernel* out) {
  auto dim = static_cast<size_t>(ir::As<IotaParams>(c.params).dim[0]);
  *out = kernels::Iota(c.results[0].dtype, c.results[0].shape, static_cast<int64_t>(dim),
                       ShardBegins(c.results[0], dim));
}

void IotaReference(const ir::ReferenceCall& call) {
  const int64_t dim = ir::As<IotaParams>(call.params).dim[0];
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t index = ir::CoordsOf(out.shape, i)[dim];
    if (out.dtype.is_floating())
      out.SetFloat(i, static_cast<long double>(index));
    else
      out.SetInt(i, index);
  }
}

}  // namespace

constexpr OpDef kConstant{.name = "constant",
                          .doc = "One number.",
                          .type = ir::TypeFn{ConstantType},
                          .dims = ir::DimMapFn{FreeDims},
                          .lowering = ir::Constant{[](const ir::Params* p) {
                            return ir::As<ConstantParams>(p).value.bits;
                          }},
                          .reference = ir::ReferenceFn{ConstantReference},
                          .diff = kZeroAlmostEverywhere,
                          .params = ir::KindOf<ConstantParams>()};
constexpr OpDef kIota{
    .name = "iota",
    .doc = "The index along a dim.",
    .type = ir::TypeFn{IotaType},
    .dims = ir::DimMapFn{FreeDims},
    .lowering =
        ir::IotaLike{[](const ir::Params* p) { return ir::As<IotaParams>(p).dim[0]; }, MakeIota},
    .reference = ir::ReferenceFn{IotaReference},
    .diff = kZeroAlmostEverywhere,
    .params = ir::KindOf<IotaParams>(),
    .out_sharding = true};

Records MakeOps() {
  static constexpr const OpDef* kOps[] = {&kConstant, &kIota};
  return kOps;
}

}  // namespace tessera::ops

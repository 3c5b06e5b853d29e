// Ops without operands.
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::HostTensor;

sharding::DimMap CreationDims(const ir::DimsCall& c) {
  return sharding::Pointwise({}, *c.results[0]);
}

std::vector<ShapeAndDType> ConstantType(const TypeCall& c) {
  CheckCount(c, 0);
  return {{{}, ir::As<ConstantParams>(c.params).value.dtype}};
}

void ConstantReference(const ir::ReferenceCall& call) {
  const Literal& value = ir::As<ConstantParams>(call.params).value;
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) reference::SetBits(out, i, value.bits);
}

// C17: the shape must be given. C18: refuses bool and complex dtypes.
std::vector<ShapeAndDType> IotaType(const TypeCall& c) {
  CheckCount(c, 0);
  if (!c.wanted) c.FailShape(17, "the shape is not given");
  const auto& dim = ir::As<IotaParams>(c.params).dim;
  CheckDims(c, dim, static_cast<int64_t>(c.wanted->shape.size()));
  if (c.wanted->dtype.is_bool()) c.FailDType(18, "an iota cannot be bool");
  if (c.wanted->dtype.is_complex()) c.FailDType(18, "an iota cannot be complex");
  return {*c.wanted};
}

// Returns the row-major index over the counted dims of the whole tensor.
ir::AffineIndex IotaIndex(const ir::Params* params, const ir::LocalTensor& result) {
  ir::AffineIndex index{.strides = std::vector<int64_t>(result.shape.size(), 0), .offsets = {}};
  const auto& dims = ir::As<IotaParams>(params).dim;
  int64_t stride = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    const size_t d = dims[k];
    index.strides[d] = stride;
    const std::vector<int64_t> begins = ShardBegins(result, d);
    if (index.offsets.size() < begins.size()) index.offsets.resize(begins.size(), 0);
    for (size_t device = 0; device < begins.size(); ++device)
      index.offsets[device] += begins[device] * stride;
    stride *= result.global[d];
  }
  return index;
}

void IotaReference(const ir::ReferenceCall& call) {
  const auto& dims = ir::As<IotaParams>(call.params).dim;
  HostTensor& out = *call.results[0];
  for (int64_t i = 0; i < out.size(); ++i) {
    const std::vector<int64_t> at = ir::CoordsOf(out.shape, i);
    int64_t index = 0;
    for (int64_t d : dims) index = index * out.shape[d] + at[d];
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
                          .dims = ir::DimMapFn{CreationDims},
                          .lowering = ir::AsConstant{[](const ir::Params* p) {
                            return ir::As<ConstantParams>(p).value.bits;
                          }},
                          .reference = ir::ReferenceFn{ConstantReference},
                          .diff = kZeroAlmostEverywhere,
                          .params = ir::KindOf<ConstantParams>(),
                          .keys = true};
constexpr OpDef kIota{
    .name = "iota",
    .doc = "The index along a dim, or the row-major index over several dims in the given order.",
    .type = ir::TypeFn{IotaType},
    .dims = ir::DimMapFn{CreationDims},
    .lowering = ir::AsIota{IotaIndex},
    .reference = ir::ReferenceFn{IotaReference},
    .diff = kZeroAlmostEverywhere,
    .params = ir::KindOf<IotaParams>(),
    .out_sharding = true};

Records MakeOps() {
  static constexpr const OpDef* kOps[] = {&kConstant, &kIota};
  return kOps;
}

}  // namespace tessera::ops

// Rounding to floating formats of fewer bits.
#include <cmath>
#include <limits>

#include "base/shape.h"
#include "kernels/elements/reduce_precision.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

// C14: the dtype must be floating. C17: a format has an exponent.
std::vector<ShapeAndDType> PrecisionType(const TypeCall& c) {
  CheckCount(c, 1);
  const DType t = c.operands[0]->dtype();
  if (!t.is_floating()) c.FailDType(14, fmt::format("it takes floating dtypes, not {}", t.name()));
  const auto& p = ir::As<PrecisionParams>(c.params);
  if (p.exponent_bits < 1)
    c.FailShape(17,
                fmt::format("a format must have 1 exponent bit or more, not {}", p.exponent_bits));
  if (p.mantissa_bits < 0)
    c.FailShape(17,
                fmt::format("a format must have 0 mantissa bits or more, not {}", p.mantissa_bits));
  return {{c.operands[0]->shape(), t}};
}

// Like a conversion to a narrower float, it counts as linear.
sharding::DimMap PrecisionDims(const ir::DimsCall& c) {
  sharding::DimMap map = sharding::Pointwise(c.operands, *c.results[0]);
  map.linear = {{.operands = {0}}};
  return map;
}

void MakePrecision(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<PrecisionParams>(c.params);
  *out = kernels::ReducePrecision(c.operands[0].dtype, base::Elements(c.operands[0].shape),
                                  p.exponent_bits, p.mantissa_bits);
}

// The bits of a dtype; `least`: the exponent of its smallest normal number.
struct FloatFormat {
  int exponent_bits, mantissa_bits, least;
};
FloatFormat FormatOf(DType t) {
  if (t == f64) return {11, 52, -1022};
  if (t == f16) return {5, 10, -14};
  return {8, t == bf16 ? 7 : 23, -126};
}

double Rounded(double x, const FloatFormat& own, const PrecisionParams& to) {
  if (!std::isfinite(x) || x == 0) return x;
  double y = x;
  if (to.mantissa_bits < own.mantissa_bits) {
    const int last = std::max(std::ilogb(x), own.least) - static_cast<int>(to.mantissa_bits);
    y = std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
  }
  if (to.exponent_bits >= own.exponent_bits) return y;
  const int most = (1 << (to.exponent_bits - 1)) - 1;
  if (std::fabs(y) >= std::ldexp(1.0, most + 1))
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  return std::fabs(y) < std::ldexp(1.0, 1 - most) ? std::copysign(0.0, x) : y;
}

void PrecisionReference(const ir::ReferenceCall& call) {
  const auto& to = ir::As<PrecisionParams>(call.params);
  const ir::HostTensor& x = *call.operands[0];
  for (int64_t i = 0; i < x.size(); ++i)
    call.results[0]->SetFloat(i, Rounded(x.Float(i), FormatOf(x.dtype), to));
}

ir::ValueId PrecisionTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return AsCotangent(c, 0, kReducePrecision, c.params, {cotangent});
}

}  // namespace

constexpr OpDef kReducePrecision{
    .name = "reduce_precision",
    .doc = "x rounded to a floating format of fewer bits, ties to even.",
    .type = ir::TypeFn{PrecisionType},
    .dims = ir::DimMapFn{PrecisionDims},
    .lowering = ir::AsKernel{MakePrecision},
    .reference = ir::ReferenceFn{PrecisionReference},
    .diff = ir::Derivative{.of = {AlongWithValue}, .transpose = PrecisionTranspose},
    .params = ir::KindOf<PrecisionParams>(),
    .flops_per_point = 4,
    .travel = ir::Travel::kElementwise};

Records PrecisionOps() {
  static constexpr const OpDef* kOps[] = {&kReducePrecision};
  return kOps;
}

}  // namespace tessera::ops

// logsumexp and its sign.
#include <limits>

#include "api/array/reductions.h"
#include "api/core/edits.h"
#include "api/core/reshard_to.h"
#include "base/dtype.h"
#include "ops/params.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

namespace {

// A sum as total * e^shift. An infinite maximum is not shifted by, which avoids inf - inf.
struct ScaledSum {
  Array total, shift;
  DType dtype;
};

// Returns exponents without those whose weight is 0 and whose e^x is not finite: these count as 0.
// Others of weight 0 have a derivative in the weight.
Array Counted(const Array& x, const Array& weights, Call call) {
  const Loc loc = call.loc;
  const Array is_finite = isfinite(exp(stop_gradient(x, loc), loc), loc);
  const Array counts = logical_or(ne(weights, Operand(0, loc), {}, loc), is_finite, {}, loc);
  return where(counts, x, Operand(-std::numeric_limits<double>::infinity(), loc), {}, loc);
}

ScaledSum SumOfExponentials(const Operand& x, const Dims& dims, const LogsumexpOptions& o,
                            Call call) {
  const Loc loc = call.loc;
  Array a = ToFloat(x, call), weights = o.weights;
  if (!o.dtype.is_default()) a = Convert(a, o.dtype, call);
  if (weights.is_given()) {
    const std::vector<Array> both = PromoteFloat({{a, loc}, {weights, loc}}, call);
    const Array zero = zeros_like(both[1], {}, loc);
    a = add(both[0], zero, {}, loc);  // broadcast with the weights
    weights = add(both[1], zeros_like(a, {}, loc), {}, loc);
  }
  a = Masked(ops::kReduceMax, a, o.where, call);
  if (weights.is_given()) weights = Masked(ops::kReduceSum, weights, o.where, call);
  const std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
  Array counted = a;
  if (weights.is_given())
    counted = where(ne(weights, Operand(0, loc), {}, loc), a,
                    IdentityOf(ops::kReduceMax, TypeOf(a)->dtype(), call), {}, loc);
  const Array top = MaxAsConstant(real(counted, loc), d, call);
  const Array shift = where(isfinite(top, loc), top, Operand(0, loc), {}, loc);
  Array exponents = sub(a, shift, {}, loc);
  if (weights.is_given()) exponents = Counted(exponents, weights, call);
  Array terms = ToWide(exp(exponents, loc), call);
  if (weights.is_given()) terms = mul(terms, ToWide(weights, call), {}, loc);
  const Array total = Reduce(terms, {ops::kReduceSum, d, o.keepdims, o.out_sharding}, call);
  Array back = o.keepdims ? shift : Reshape(shift, ShapeOf(total), call);
  if (o.out_sharding) back = ReshardTo(back, TypeOf(total)->sharding(), call);
  return {total, ToWide(back, call), TypeOf(a)->dtype()};
}

}  // namespace

Array logsumexp(Operand x, Dims dims, LogsumexpOptions options, Loc loc) {
  const Call call{"logsumexp", loc};
  return AsOneWith(call, {{"operand", x}, dims, options},
                   {{"where", &options.where}, {"weights", &options.weights}},
                   [&](const Operands& xs) {
                     const ScaledSum sum = SumOfExponentials(xs[0], dims, options, call);
                     const Array log_total = log(sum.total, loc);
                     return Convert(add(log_total, sum.shift, {}, loc), sum.dtype, call);
                   });
}

SignedLogsumexp signed_logsumexp(Operand x, Dims dims, LogsumexpOptions options, Loc loc) {
  const Call call{"signed_logsumexp", loc};
  const std::vector<Array> made =
      AsOneWith(call, {{"operand", x}, dims, options},
                {{"where", &options.where}, {"weights", &options.weights}},
                [&](const Operands& xs) -> std::vector<Array> {
                  const ScaledSum sum = SumOfExponentials(xs[0], dims, options, call);
                  const Array value = add(log(abs(sum.total, loc), loc), sum.shift, {}, loc);
                  return {Convert(value, base::PartOf(sum.dtype), call),
                          Convert(sign(sum.total, loc), sum.dtype, call)};
                });
  return {made[0], made[1]};
}

}  // namespace tessera

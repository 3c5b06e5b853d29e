// Reduces over dims, and keeps or drops them.
#include "api/array/reductions.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "base/at.h"
#include "base/dtype.h"
#include "ops/params.h"

namespace tessera::api {
namespace {

// Returns the spec without the entries of these dims.
PartitionSpec Dropped(const PartitionSpec& spec, const std::vector<int64_t>& dims) {
  std::vector<DimSharding> kept;
  for (size_t d = 0; d < spec.dims().size(); ++d)
    if (!absl::c_count(dims, static_cast<int64_t>(d))) kept.push_back(spec.dims()[d]);
  PartitionSpec out(std::move(kept));
  if (!spec.unreduced_axes().empty()) out = out.unreduced(spec.unreduced_axes(), spec.reduction());
  if (!spec.reduced_axes().empty()) out = out.reduced(spec.reduced_axes());
  return out;
}

}  // namespace

Array Reduce(const Array& x, Reduced r, Call call) {
  absl::c_sort(r.dims);
  base::Shape kept = TypeOf(x)->shape();
  for (int64_t d : r.dims) base::At(kept, d) = 1;
  auto rank = static_cast<int>(kept.size() - r.dims.size());
  if (r.keepdims && r.out_sharding) r.out_sharding = Dropped(*r.out_sharding, r.dims);
  Array y = Run(r.op, ir::MakeParams(ops::DimsParams{r.dims}), {x}, call,
                {.out_sharding = r.out_sharding, .rank = rank});
  return r.keepdims ? Reshape(y, kept, call) : y;
}

Array IdentityOf(const ir::OpDef& op, DType t, Call call) {
  return Run(op, ir::MakeParams(ops::DimsParams{{0}}), {zeros({0}, {.dtype = t}, call.loc)}, call);
}

namespace {
void CheckMask(const Array& mask, const base::Shape& shape, Call call) {
  if (!TypeOf(mask)->dtype().is_bool())
    FailDType(call, 14, fmt::format(".where is bool, not {}", TypeOf(mask)->dtype().name()));
  if (!CanBroadcastTo(ShapeOf(mask), shape))
    FailShape(call, 18,
              fmt::format(".where has shape {}, which does not broadcast to {}",
                          ir::FieldText(ShapeOf(mask)), ir::FieldText(shape)));
}
}  // namespace

Array MaxAsConstant(const Array& x, const std::vector<int64_t>& dims, Call call) {
  return stop_gradient(Reduce(x, {ops::kReduceMax, dims, true}, call), call.loc);
}

Array Masked(const ir::OpDef& op, const Array& x, const Array& mask, Call call) {
  if (!mask.is_given()) return x;
  CheckMask(mask, ShapeOf(x), call);
  return where(mask, x, IdentityOf(op, TypeOf(x)->dtype(), call), {}, call.loc);
}

void CheckHasNo(const char* option, const Array& value, Call call) {
  if (value.is_given()) FailShape(call, 17, fmt::format("it has no .{}", option));
}

Array CountWhere(const Array& mask, const Array& x, const Counted& counted, Call call) {
  CheckMask(mask, ShapeOf(x), call);
  base::Shape shape = ShapeOf(mask);
  shape.insert(shape.begin(), base::Size(Rank(x) - Rank(mask)), 1);
  DType t = base::PartOf(TypeOf(x)->dtype());
  double times = 1;  // how often an element of the mask counts
  std::vector<int64_t> dims = counted.dims;
  for (int64_t d : dims)
    if (base::At(shape, d) == 1) times *= static_cast<double>(base::At(ShapeOf(x), d));
  const Array ones = Convert(Reshape(mask, shape, call), t, call);
  const Array n = Reduce(ones, {ops::kReduceSum, std::move(dims), counted.keepdims}, call);
  return times == 1 ? n : mul(n, StrongScalar(times, t, call), {}, call.loc);
}

double Count(const Array& x, const std::vector<int64_t>& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(base::At(TypeOf(x)->shape(), d));
  return n;
}

}  // namespace tessera::api

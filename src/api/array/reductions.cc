// Reduces over dims, and keeps or drops them.
#include "api/array/reductions.h"

#include <absl/algorithm/container.h>

#include "base/at.h"
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

double Count(const Array& x, const std::vector<int64_t>& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(base::At(TypeOf(x)->shape(), d));
  return n;
}

}  // namespace tessera::api

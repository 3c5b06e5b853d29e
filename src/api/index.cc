// Sorting, one-hot arrays and placement.
#include <fmt/format.h>

#include <algorithm>

#include "api/edits.h"
#include "api/operands.h"
#include "base/at.h"
#include "base/defaults.h"
#include "ops/params.h"

namespace tessera {
namespace {
using api::Call;
const ir::Shape& ShapeOf(const Array& x) { return api::TypeOf(x)->shape(); }
}  // namespace

std::vector<Array> sort(std::vector<Array> xs, int dim, SortOptions options, Loc loc) {
  Call call{"sort", loc};
  if (xs.empty()) api::FailShape(call, 17, "there is nothing to sort");
  for (const Array& x : xs) trace::Use(x, "sort", loc);
  int64_t d = api::NormalDim(dim, api::TypeOf(xs[0])->rank(), call);
  return api::RunAll(ops::kSort,
                     ir::MakeParams(ops::SortParams{{d}, options.num_keys, options.descending}), xs,
                     call);
}

// Descending is the ascending order reversed, as NumPy's: NaN first.
Array sort(Operand x, int dim, SortOptions options, Loc loc) {
  if (options.descending) {
    options.descending = false;
    return rev(sort(x, dim, options, loc), dim, loc);
  }
  return sort(std::vector<Array>{api::ToArray(x, {"sort", loc})}, dim, options, loc)[0];
}

Array argsort(Operand x, int dim, SortOptions options, Loc loc) {
  Call call{"argsort", loc};
  Array a = api::ToArray(x, call);
  int64_t d = api::NormalDim(dim, api::TypeOf(a)->rank(), call);
  ir::ShapeAndDType counting{ShapeOf(a), base::DefaultInt()};
  trace::Application index{.op = ops::kIota,
                           .params = ir::MakeParams(ops::IotaParams{{d}}),
                           .operands = {},
                           .wanted = &counting,
                           .loc = loc,
                           .shown_as = "argsort"};
  sharding::TensorSharding s = api::TypeOf(a)->sharding();
  s.unreduced.clear();
  s.reduced.clear();
  if (s.mesh) index.out_sharding = &s;
  options.num_keys = 1;
  return sort({a, trace::Apply(index)[0]}, dim, options, loc)[1];
}

TopK top_k(Operand x, int64_t k, Loc loc) {
  Call call{"top_k", loc};
  std::vector<Array> r =
      api::RunAll(ops::kTopK, ir::MakeParams(ops::TopKParams{k}), {api::ToArray(x, call)}, call);
  return {r[0], r[1]};
}

Array one_hot(Operand x, int64_t n, OneHotOptions options, Loc loc) {
  Call call{"one_hot", loc};
  Array a = api::ToArray(x, call);
  if (n < 0)
    api::FailShape(call, 18, fmt::format("the number of classes must be 0 or more, not {}", n));
  DType index = api::TypeOf(a)->dtype();
  int64_t rank = api::TypeOf(a)->rank() + 1, d = api::NormalDim(options.dim, rank, call);
  ir::Shape line(static_cast<size_t>(rank), 1), column = ShapeOf(a);
  base::At(line, d) = n;
  column.insert(column.begin() + d, 1);
  ir::ShapeAndDType counting{line, index};
  std::optional<PartitionSpec> along;
  if (options.out_sharding) {
    std::vector<DimSharding> dims(static_cast<size_t>(d) + 1);
    if (options.out_sharding->rank() > d) dims.back() = base::At(options.out_sharding->dims(), d);
    along = PartitionSpec(std::move(dims));
  }
  Array classes =
      api::Run(ops::kIota, ir::MakeParams(ops::IotaParams{{d}}), {}, call,
               {.wanted = &counting, .out_sharding = along, .rank = static_cast<int>(rank)});
  Array hit =
      eq(api::Reshape(a, column, call), classes, {.out_sharding = options.out_sharding}, loc);
  return api::Convert(hit, options.dtype.is_default() ? base::DefaultFloat() : options.dtype, call);
}

}  // namespace tessera

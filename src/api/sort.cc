// Sorting.
#include "base/dtype.h"
#include "frontend/operands.h"
#include "ops/params.h"
#include "trace/apply.h"

namespace tessera {

using namespace frontend;

std::vector<Array> sort(std::vector<Array> xs, int dim, SortOptions options, Loc loc) {
  Call call{"sort", loc};
  if (xs.empty()) FailShape(call, 17, "there is nothing to sort");
  for (const Array& x : xs) trace::Use(x, "sort", loc);
  int64_t d = NormalDim(dim, TypeOf(xs[0])->rank(), call);
  return RunAll(ops::kSort,
                ir::MakeParams(ops::SortParams{{d}, options.num_keys, options.descending}), xs,
                call);
}

// Descending is the ascending order reversed, as NumPy's: NaN first.
Array sort(Operand x, int dim, SortOptions options, Loc loc) {
  if (options.descending) {
    options.descending = false;
    return rev(sort(x, dim, options, loc), dim, loc);
  }
  return sort(std::vector<Array>{ToArray(x, {"sort", loc})}, dim, options, loc)[0];
}

Array argsort(Operand x, int dim, SortOptions options, Loc loc) {
  Call call{"argsort", loc};
  Array a = ToArray(x, call);
  int64_t d = NormalDim(dim, TypeOf(a)->rank(), call);
  ir::ShapeAndDType counting{ShapeOf(a), base::DefaultInt()};
  trace::Application index{.op = ops::kIota,
                           .params = ir::MakeParams(ops::IotaParams{{d}}),
                           .operands = {},
                           .wanted = &counting,
                           .loc = loc,
                           .shown_as = "argsort"};
  sharding::TensorSharding s = TypeOf(a)->sharding();
  s.unreduced.clear();
  s.reduced.clear();
  if (s.mesh) index.out_sharding = &s;
  options.num_keys = 1;
  return sort({a, trace::Apply(index)[0]}, dim, options, loc)[1];
}

TopK top_k(Operand x, int64_t k, Loc loc) {
  Call call{"top_k", loc};
  std::vector<Array> r =
      RunAll(ops::kTopK, ir::MakeParams(ops::TopKParams{k}), {ToArray(x, call)}, call);
  return {r[0], r[1]};
}

}  // namespace tessera

// Sorts arrays and returns sorted orders.
#include "api/core/call_modes.h"
#include "api/core/edits.h"
#include "base/dtype.h"
#include "ops/params.h"
#include "trace/apply.h"

namespace tessera {

using namespace api;

namespace {

std::vector<Array> Sorted(const std::vector<Array>& xs, int dim, const SortOptions& options,
                          Call call) {
  for (const Array& x : xs) trace::Use(x, call.name, call.loc);
  int64_t d = NormalDim(dim, TypeOf(xs[0])->rank(), call);
  return RunAll(ops::kSort,
                ir::MakeParams(ops::SortParams{{d}, options.num_keys, options.descending}), xs,
                call, {.out_sharding = options.out_sharding, .rank = TypeOf(xs[0])->rank()});
}

// Returns the index of each element along dim d, sharded like x.
Array IndicesAlong(const Array& x, int64_t d, Call call) {
  ir::ShapeAndDType counting{ShapeOf(x), base::DefaultInt()};
  trace::Application index{.op = ops::kIota,
                           .params = ir::MakeParams(ops::IotaParams{{d}}),
                           .operands = {},
                           .wanted = &counting,
                           .loc = call.loc,
                           .shown_as = call.name};
  sharding::TensorSharding s = TypeOf(x)->sharding();
  s.unreduced.clear();
  s.reduced.clear();
  if (s.mesh) index.out_sharding = &s;
  return trace::Apply(index)[0];
}

}  // namespace

std::vector<Array> sort(std::vector<Array> xs, int dim, SortOptions options, Loc loc) {
  Call call{"sort", loc};
  if (xs.empty()) FailShape(call, 17, "there is nothing to sort");
  return AsOne(call, {xs, dim, options},
               [&](const std::vector<Array>& all) { return Sorted(all, dim, options, call); });
}

// Descending order is the reverse of NumPy's ascending order, so NaN comes first.
Array sort(Operand x, int dim, SortOptions options, Loc loc) {
  Call call{"sort", loc};
  return AsOne(call, {x, dim, options}, [&](const Operand& operand) {
    SortOptions ascending = options;
    ascending.descending = false;
    const Array sorted = Sorted({ToArray(operand, call)}, dim, ascending, call)[0];
    return options.descending ? rev(sorted, dim, loc) : sorted;
  });
}

Array argsort(Operand x, int dim, SortOptions options, Loc loc) {
  Call call{"argsort", loc};
  return AsOne(call, {x, dim, options}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    SortOptions by_value = options;
    by_value.num_keys = 1;
    const Array index = IndicesAlong(a, NormalDim(dim, TypeOf(a)->rank(), call), call);
    return Sorted({a, index}, dim, by_value, call)[1];
  });
}

namespace {
// Only propagation lays out a sharded last dim: each device takes the largest of its shard.
std::vector<Array> Largest(const Array& x, int64_t k, const OutOptions& options, Call call) {
  const auto run = [&](const std::vector<Array>& xs) {
    return RunAll(ops::kTopK, ir::MakeParams(ops::TopKParams{k}), xs, call);
  };
  std::vector<Array> xs{x};
  if (!options.out_sharding) return run(xs);
  const detail::Body body = [&](const std::vector<Array>& inside) {
    std::vector<Array> results = run(inside);
    return detail::FunctionResult{results, detail::AnyTree::Of(results)};
  };
  return CallAutoAxes({xs, body, call.loc}, {.out_sharding = *options.out_sharding}).arrays;
}
}  // namespace

TopK top_k(Operand x, int64_t k, OutOptions options, Loc loc) {
  const Call call{"top_k", loc};
  const std::vector<Array> r = AsOne(call, {x, k, options}, [&](const Operand& operand) {
    return Largest(ToArray(operand, call), k, options, call);
  });
  return {r[0], r[1]};
}

}  // namespace tessera

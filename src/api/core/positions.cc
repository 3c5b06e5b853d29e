// Counts elements along a dim, each device those of its shard.
#include "api/core/positions.h"

#include "base/at.h"
#include "ops/params.h"
#include "trace/apply.h"

namespace tessera::api {

namespace {
Array Iota(base::Shape shape, int64_t dim, DType dtype, const sharding::TensorSharding& out,
           Call call) {
  const ShapeAndDType wanted{std::move(shape), dtype};
  trace::Application a{.op = ops::kIota,
                       .params = ir::MakeParams(ops::IotaParams{{dim}}),
                       .operands = {},
                       .wanted = &wanted,
                       .loc = call.loc,
                       .shown_as = call.name};
  if (out.mesh) a.out_sharding = &out;
  return trace::Apply(a)[0];
}
}  // namespace

Array Positions(const Array& x, int64_t dim, DType dtype, Call call) {
  const sharding::TensorSharding& own = TypeOf(x)->sharding();
  base::Shape shape(base::Size(Rank(x)), 1);
  base::At(shape, dim) = base::At(ShapeOf(x), dim);
  sharding::TensorSharding out = sharding::Replicated(own.mesh, TypeOf(x)->rank());
  if (own.mesh) base::At(out.dims, dim) = base::At(own.dims, dim);
  return Iota(std::move(shape), dim, dtype, out, call);
}

Array Positions(int64_t n, int64_t dim, int64_t rank, DType dtype, Call call) {
  base::Shape shape(base::Size(rank), 1);
  base::At(shape, dim) = n;
  return Iota(std::move(shape), dim, dtype, {}, call);
}

}  // namespace tessera::api

// Results whose size depends on the elements: sizes that are read, and rows that are kept.
#include "api/numpy/sized.h"

#include <fmt/format.h>

#include "api/core/positions.h"
#include "base/at.h"
#include "base/shape.h"
#include "sharding/tensor_sharding.h"

namespace tessera::api {

int64_t SizeOr(const std::optional<int64_t>& size, const Array& needed, Call call) {
  if (size && *size < 0) FailShape(call, 17, fmt::format("the size {} is negative", *size));
  if (size) return *size;
  if (needed.is_traced() || needed.is_abstract())
    FailTrace(call, 17, "the size of the result depends on elements that are not known here",
              {"give the size as an option"});
  return Convert(needed, i64, call).item<int64_t>(call.loc);
}

Array Gathered(const Array& x, Call call) {
  const sharding::TensorSharding& own = TypeOf(x)->sharding();
  bool is_whole = true;
  for (const auto& dim : own.dims) is_whole = is_whole && dim.axes.empty();
  return !own.mesh || is_whole ? x
                               : Moved(x, sharding::Replicated(own.mesh, TypeOf(x)->rank()), call);
}

std::optional<PartitionSpec> OwnSpec(const Array& x) {
  const sharding::TensorSharding& own = TypeOf(x)->sharding();
  for (const auto& dim : own.dims)
    if (!dim.axes.empty()) return sharding::ToSpec(own);
  return std::nullopt;
}

Array WholeAlong(const Array& x, int64_t dim, Call call) {
  sharding::TensorSharding to = TypeOf(x)->sharding();
  if (base::At(to.dims, dim).axes.empty()) return x;
  base::At(to.dims, dim).axes.clear();
  return Moved(x, std::move(to), call);
}

Array Line(const Array& x, Call call) { return Reshape(x, {TypeOf(x)->elements()}, call); }

Array Flat(const Array& x, Call call) {
  return Reshape(Gathered(x, call), {TypeOf(x)->elements()}, call);
}

Array AtRows(ScatterCall scatter, const Array& x, const Array& rows, const Array& updates,
             ScatterOptions options, Call call) {
  ScatterDims dims{.inserted = {0}, .start = {0}};
  options.mode = LookupMode::kDrop;  // rows out of bounds are those to drop
  for (int64_t d = Rank(rows); d < Rank(updates); ++d) dims.window.push_back(d);
  return scatter(x, expand_dims(rows, {-1}, call.loc), updates, dims, std::move(options), call.loc);
}

Array Kept(const Array& x, const Array& mask, int64_t size, const Scalar& fill, Call call) {
  const Loc loc = call.loc;
  base::Shape shape = ShapeOf(x);
  shape[0] = size;
  const Array empty = full(shape, StrongScalar(fill, TypeOf(x)->dtype(), call), {}, loc);
  const Located count(cumsum(Convert(mask, i32, call), 0, {}, loc), loc);
  const Located place = If(count.With(mask), count - 1, size);
  return AtRows(tessera::scatter, empty, place, x, {}, call);
}

}  // namespace tessera::api

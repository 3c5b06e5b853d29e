// The functions of jax.lax that name one dim, as calls of ours. tessera.h does not include this
// header.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "tessera/combiners.h"
#include "tessera/control.h"
#include "tessera/lookup.h"
#include "tessera/ops.h"
#include "tessera/shard_map.h"

namespace TESSERA_PUBLIC tessera {

namespace detail {
inline size_t DimOf(const Array& x, int dim) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int>(x.shape().size()) : dim);
}
inline std::vector<Array> StartsOf(const Array& x, const Array& start, int dim) {
  std::vector<Array> starts(x.shape().size(), Array(0));
  starts.at(DimOf(x, dim)) = start;
  return starts;
}
}  // namespace detail

// Returns x repeated along new dims of these sizes in front: [sizes..., ...].
inline Array broadcast(Array x, Shape sizes, Loc loc = Loc::Current()) {
  std::vector<int64_t> shape = sizes.dims();
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  return broadcast_to(std::move(x), shape, {}, loc);
}
// Returns x with dims of size 1 in front, up to this rank.
inline Array broadcast_to_rank(Array x, int rank, Loc loc = Loc::Current()) {
  std::vector<int64_t> dims;
  for (int d = static_cast<int>(x.shape().size()); d < rank; ++d)
    dims.push_back(static_cast<int64_t>(dims.size()));
  return expand_dims(std::move(x), dims, loc);
}
// Returns x with the dims from `start` to before `stop` as one.
inline Array collapse(Array x, int start, int stop, Loc loc = Loc::Current()) {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < x.shape().size(); ++d) {
    if (static_cast<int>(d) > start && static_cast<int>(d) < stop)
      shape.back() *= x.shape()[d];
    else
      shape.push_back(x.shape()[d]);
  }
  return reshape(std::move(x), shape, {}, loc);
}
// Returns x[start:limit:stride] along the dim; negative numbers count from the end.
inline Array slice_in_dim(Array x, std::optional<int64_t> start, std::optional<int64_t> limit,
                          int64_t stride = 1, int dim = 0, Loc loc = Loc::Current()) {
  const size_t d = detail::DimOf(x, dim);
  std::vector<int64_t> starts(x.shape().size(), 0), limits = x.shape(), strides(limits.size(), 1);
  const int64_t n = limits.at(d);
  const auto place = [n](int64_t i) { return i < 0 ? i + n : i; };
  starts[d] = place(start.value_or(0));
  limits[d] = limit ? place(*limit) : n;
  strides[d] = stride;
  return slice(std::move(x), starts, limits, strides, loc);
}
// Returns the slice x[index] of the dim, which stays with size 1 if `keepdims`.
inline Array index_in_dim(Array x, int64_t index, int dim = 0, bool keepdims = true,
                          Loc loc = Loc::Current()) {
  const int64_t at = index < 0 ? index + x.shape().at(detail::DimOf(x, dim)) : index;
  const Array made = slice_in_dim(std::move(x), at, at + 1, 1, dim, loc);
  return keepdims ? made : squeeze(made, dim, loc);
}
// Returns the slice of this size that begins at `start`, an int [], moved inside if it reaches out.
inline Array dynamic_slice_in_dim(Array x, Array start, int64_t size, int dim = 0,
                                  Loc loc = Loc::Current()) {
  std::vector<int64_t> sizes = x.shape();
  sizes.at(detail::DimOf(x, dim)) = size;
  return dynamic_slice(x, detail::StartsOf(x, start, dim), sizes, loc);
}
// Returns the slice at `index`, an int [].
inline Array dynamic_index_in_dim(Array x, Array index, int dim = 0, bool keepdims = true,
                                  Loc loc = Loc::Current()) {
  const Array made = dynamic_slice_in_dim(std::move(x), std::move(index), 1, dim, loc);
  return keepdims ? made : squeeze(made, dim, loc);
}
// Returns x with the update written at `start` of the dim.
inline Array dynamic_update_slice_in_dim(Array x, Array update, Array start, int dim = 0,
                                         Loc loc = Loc::Current()) {
  return dynamic_update_slice(x, std::move(update), detail::StartsOf(x, start, dim), loc);
}
// Same, for one slice, with or without its dim.
inline Array dynamic_update_index_in_dim(Array x, Array update, Array index, int dim = 0,
                                         Loc loc = Loc::Current()) {
  if (update.shape().size() < x.shape().size()) update = expand_dims(update, dim, loc);
  return dynamic_update_slice_in_dim(std::move(x), std::move(update), std::move(index), dim, loc);
}
// Returns x with the updates subtracted from slices.
inline Array scatter_sub(Operand x, Operand indices, Operand updates, ScatterDims dims,
                         ScatterOptions options = {}, Loc loc = Loc::Current()) {
  return scatter_add(std::move(x), std::move(indices), neg(std::move(updates), loc),
                     std::move(dims), std::move(options), loc);
}
// Returns x broadcast to the shape and the sharding of another array.
inline Array broadcast_like(Operand x, Array like, Loc loc = Loc::Current()) {
  const ArrayType type = type_of(like, loc);
  OutOptions options;
  if (!type.mesh().empty()) options.out_sharding = PartitionSpec(type.spec().dims());
  return broadcast_to(std::move(x), type.shape(), std::move(options), loc);
}
// Returns the slices x[..., i, ..., j, ...] for the numbers i, j, ... of the arrays [n] along these
// dims: [n, other dims...]. Negative numbers count from the end.
inline Array index_take(Array x, std::vector<Array> numbers, std::vector<int64_t> dims,
                        Loc loc = Loc::Current()) {
  std::vector<int64_t> sizes = x.shape(), offset, bounds;
  for (int64_t d : dims) {
    bounds.push_back(sizes.at(static_cast<size_t>(d)));
    sizes[static_cast<size_t>(d)] = 1;
  }
  for (size_t d = 0; d + dims.size() < sizes.size(); ++d)
    offset.push_back(static_cast<int64_t>(d) + 1);
  const Array all = stack(std::move(numbers), 1, loc);
  const Array places = remainder(all, astype(array(bounds, {}, loc), all.dtype(), loc), {}, loc);
  return gather(std::move(x), places, {.offset = offset, .collapsed = dims, .start = dims}, sizes,
                {}, loc);
}
// Returns x with f applied to the elements of slices, which have the shape of updates of a scatter.
template <class F>
Array scatter_apply(Operand x, Operand indices, F f, Shape update_shape, ScatterDims dims,
                    ScatterOptions options = {}, Loc loc = Loc::Current()) {
  const Array unused = zeros(std::move(update_shape), {.dtype = x.array().dtype()}, loc);
  const auto apply = [f = std::move(f)](Array element, Array) -> Array { return f(element); };
  return scatter(std::move(x), std::move(indices), unused, apply, std::move(dims),
                 std::move(options), loc);
}
// Returns f of each slice of xs, one after the other.
template <class F, class Xs>
auto map(F f, Xs xs, LaxMapOptions options = {}, Loc loc = Loc::Current()) {
  return lax_map(std::move(f), std::move(xs), std::move(options), loc);
}
// Inside of shard_map: returns the array of position sources[i] of the group on position i.
inline Array pshuffle(Operand x, AxisSet axes, std::vector<int> sources, Loc loc = Loc::Current()) {
  std::vector<std::pair<int, int>> pairs;
  for (size_t i = 0; i < sources.size(); ++i) pairs.emplace_back(sources[i], static_cast<int>(i));
  return ppermute(std::move(x), std::move(axes), std::move(pairs), loc);
}
// Inside of shard_map: returns the array with a dim of the size of the group and the group
// exchanged: element i goes to device i of the group.
inline Array pswapaxes(Operand x, AxisSet axes, int dim, Loc loc = Loc::Current()) {
  return all_to_all(std::move(x), std::move(axes), dim, dim, {}, loc);
}
// Returns the matrix products of stacks, whose other dims are equal.
inline Array batch_matmul(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current()) {
  return matmul(std::move(a), std::move(b), std::move(options), loc);
}

}  // namespace tessera

// Gather, scatter, and NumPy's lookups, which are composed of them.
#include "tessera/lookup.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "api/array/index_lookups.h"
#include "api/control/index_check.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "base/error.h"

namespace tessera {

using namespace api;

namespace {

// Returns indices [...] as index vectors of one entry, [..., 1].
Array AsVectors(const Array& indices, Call call) {
  base::Shape shape = TypeOf(indices)->shape();
  shape.push_back(1);
  return Reshape(indices, shape, call);
}

// Returns the shape of a gather's result. C17, C18: throws ShapeError unless each dim has a slice
// size, which is 1 for collapsed and batch dims.
base::Shape ResultShape(const GatherDims& dims, const base::Shape& x, const base::Shape& indices,
                        const base::Shape& sizes, Call call) {
  if (sizes.size() != x.size())
    FailShape(call, 17,
              fmt::format("slice_sizes has {} entr{}, but the array has rank {}", sizes.size(),
                          sizes.size() == 1 ? "y" : "ies", x.size()));
  auto has = [](const std::vector<int64_t>& list, size_t d) {
    return absl::c_find(list, static_cast<int64_t>(d)) != list.end();
  };
  base::Shape windows, result;
  for (size_t d = 0; d < x.size(); ++d) {
    bool left_out = has(dims.collapsed, d) || has(dims.operand_batch, d);
    if (!left_out) windows.push_back(sizes[d]);
    if (left_out && sizes[d] != 1)
      FailShape(
          call, 18,
          fmt::format("dim {} is collapsed or a batch dim, so its slice size must be 1, not {}", d,
                      sizes[d]));
  }
  size_t window = 0, query = 0;
  while (window < windows.size() || query + 1 < indices.size()) {
    bool along = has(dims.offset, result.size());
    if (along ? window == windows.size() : query + 1 >= indices.size())
      FailShape(call, 17,
                fmt::format(".offset {} does not fit slices of {}", ir::FieldText(dims.offset),
                            base::CountText(windows.size(), "dim")));
    result.push_back(along ? windows[window++] : indices[query++]);
  }
  return result;
}

// Returns the dims that the entries of an index vector are into, for slices of these sizes; none if
// the params do not fit the array, which the op refuses.
std::vector<IndexedDim> IndexedDims(const std::vector<int64_t>& starts, const base::Shape& x,
                                    const base::Shape& slices) {
  std::vector<IndexedDim> dims;
  for (int64_t d : starts) {
    if (d < 0 || base::Size(d) >= x.size() || base::Size(d) >= slices.size()) return {};
    dims.push_back({base::At(x, d), base::At(slices, d)});
  }
  return dims;
}

// Returns the sizes of the slices that a scatter updates, by dim of x.
base::Shape SlicesOf(const ops::ScatterParams& p, const base::Shape& x,
                     const base::Shape& updates) {
  base::Shape sizes(x.size(), 1);
  size_t window = 0;
  for (size_t d = 0; d < x.size() && window < p.windows.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (absl::c_linear_search(p.dropped, dim) || absl::c_linear_search(p.batch.lhs, dim)) continue;
    const int64_t w = p.windows[window++];
    if (w >= 0 && base::Size(w) < updates.size()) sizes[d] = base::At(updates, w);
  }
  return sizes;
}

// Whether a call says how it treats indices out of bounds. It is then not checked (CheckedIndices).
bool StatesMode(std::optional<LookupMode> mode) { return mode && mode != LookupMode::kPromise; }

Array RunScatter(const ir::OpDef& op, const char* name, const Operand& x, const Operand& indices,
                 const Operand& updates, ScatterDims& dims, ScatterOptions& options, Loc loc) {
  Call call{name, loc};
  Array a = ToArray(x, call), i = ToArray(indices, call);
  Array u = updates.scalar() ? StrongScalar(*updates.scalar(), TypeOf(a)->dtype(), call)
                             : ToArray(updates, call);
  ops::ScatterParams p;
  p.windows = std::move(dims.window);
  p.dropped = std::move(dims.inserted);
  p.starts = std::move(dims.start);
  p.batch = {std::move(dims.operand_batch), std::move(dims.indices_batch)};
  p.mode = options.mode.value_or(LookupMode::kDrop);
  p.sorted = options.indices_are_sorted;
  p.unique = options.unique_indices;
  if (!StatesMode(options.mode))
    CheckIndices(i, IndexedDims(p.starts, ShapeOf(a), SlicesOf(p, ShapeOf(a), ShapeOf(u))),
                 Negative::kOutside, call);
  return Scatter(op, a, i, u, std::move(p), options.out_sharding, call);
}

}  // namespace

Array gather(Operand x, Operand indices, GatherDims dims, Shape slice_sizes, GatherOptions options,
             Loc loc) {
  Call call{"gather", loc};
  Array a = ToArray(x, call), i = ToArray(indices, call);
  base::Shape result = ResultShape(dims, ShapeOf(a), ShapeOf(i), slice_sizes.dims(), call);
  ops::GatherParams p;
  p.windows = std::move(dims.offset);
  p.dropped = std::move(dims.collapsed);
  p.starts = std::move(dims.start);
  p.batch = {std::move(dims.operand_batch), std::move(dims.indices_batch)};
  p.mode = options.mode.value_or(LookupMode::kClip);
  p.sorted = options.indices_are_sorted;
  p.unique = options.unique_indices;
  p.fill.bits = FillBits(options.fill_value, TypeOf(a)->dtype(), call);
  if (!StatesMode(options.mode) && !options.fill_value)
    CheckIndices(i, IndexedDims(p.starts, ShapeOf(a), slice_sizes.dims()), Negative::kOutside,
                 call);
  return Gather(a, i, std::move(p), result, options.out_sharding, call);
}

Array scatter(Operand x, Operand indices, Operand updates, ScatterDims dims, ScatterOptions options,
              Loc loc) {
  return RunScatter(ops::kScatter, "scatter", x, indices, updates, dims, options, loc);
}
Array scatter_add(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterAdd, "scatter_add", x, indices, updates, dims, options, loc);
}
Array scatter_mul(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterMul, "scatter_mul", x, indices, updates, dims, options, loc);
}
Array scatter_min(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterMin, "scatter_min", x, indices, updates, dims, options, loc);
}
Array scatter_max(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterMax, "scatter_max", x, indices, updates, dims, options, loc);
}

namespace {
// Returns the indices into a dim of this size, as the mode of the options counts them.
Array PlacesFor(const Array& indices, int64_t size, const TakeOptions& options, Call call) {
  const bool fills = options.mode == TakeMode::kFill;
  if (fills) return FromEnd(indices, size, call, /*is_checked=*/!options.fill_value);
  const DType t = TypeOf(indices)->dtype();
  if (!t.is_integer())
    FailDType(call, 15, fmt::format("indices must be integers, not {}", t.name()));
  if (options.mode == TakeMode::kClip || size == 0) return indices;
  const Array wide = t.size() < 4 ? Convert(indices, i32, call) : indices;  // holds the size
  return remainder(wide, StrongScalar(size, TypeOf(wide)->dtype(), call), {}, call.loc);
}

Array Take(const Operand& x, const Operand& indices, int dim, const TakeOptions& options,
           Call call) {
  Array a = ToArray(x, call), i = ToArray(indices, call);
  const base::Shape& shape = ShapeOf(a);
  const int64_t d = NormalDim(dim, static_cast<int64_t>(shape.size()), call);
  i = PlacesFor(i, base::At(shape, d), options, call);
  const int64_t queries = TypeOf(i)->rank();
  base::Shape result = shape;
  result.erase(result.begin() + d);
  result.insert(result.begin() + d, ShapeOf(i).begin(), ShapeOf(i).end());
  ops::GatherParams p;
  for (int64_t r = 0; r < static_cast<int64_t>(result.size()); ++r)
    if (r < d || r >= d + queries) p.windows.push_back(r);
  p.dropped = p.starts = {d};
  if (options.mode == TakeMode::kClip) p.mode = LookupMode::kClip;
  p.fill.bits = FillBits(options.fill_value, TypeOf(a)->dtype(), call);
  return Gather(a, AsVectors(i, call), std::move(p), result, options.out_sharding, call);
}
}  // namespace

Array take(Operand x, Operand indices, int dim, TakeOptions options, Loc loc) {
  const Call call{"take", loc};
  return AsOne(call, {{"operand", x}, {"indices", indices}, dim, options},
               [&](const Operand& a, const Operand& i) { return Take(a, i, dim, options, call); });
}

namespace {
// Gathers along `dim`. Another dim is a batch dim if x and the indices have one size, a dim of the
// slices if the indices have size 1, and dropped if x has size 1.
Array TakeAlong(const Operand& x, const Operand& indices, int dim, const TakeAlongOptions& options,
                Call call) {
  Array a = ToArray(x, call), i = ToArray(indices, call);
  const base::Shape shape = ShapeOf(a), at = ShapeOf(i);
  if (shape.size() != at.size())
    FailShape(call, 16,
              fmt::format("x has rank {}, but the indices have rank {}", shape.size(), at.size()));
  const auto along = base::Size(NormalDim(dim, static_cast<int64_t>(shape.size()), call));
  ops::GatherParams p;
  base::Shape result = at, queries;
  for (size_t k = 0; k < shape.size(); ++k) {
    const auto d = static_cast<int64_t>(k);
    if (k == along) {
      p.dropped.push_back(d);
      p.starts.push_back(d);
    } else if (shape[k] == at[k]) {
      p.batch.lhs.push_back(d);
      p.batch.rhs.push_back(static_cast<int64_t>(queries.size()));
    } else if (at[k] == 1) {
      p.windows.push_back(d);
      result[k] = shape[k];
      continue;
    } else if (shape[k] == 1) {
      p.dropped.push_back(d);
    } else {
      FailShape(call, 18,
                fmt::format("dim {} has size {} in x, but {} in the indices", k, shape[k], at[k]));
    }
    queries.push_back(at[k]);
  }
  const bool is_checked = !StatesMode(options.mode) && !options.fill_value;
  i = Reshape(FromEnd(i, shape[along], call, is_checked), queries, call);
  p.mode = options.mode.value_or(LookupMode::kFill);
  p.fill.bits = FillBits(options.fill_value, TypeOf(a)->dtype(), call);
  return Gather(a, AsVectors(i, call), std::move(p), result, options.out_sharding, call);
}
}  // namespace

Array take_along_dim(Operand x, Operand indices, int dim, TakeAlongOptions options, Loc loc) {
  const Call call{"take_along_dim", loc};
  return AsOne(
      call, {{"operand", x}, {"indices", indices}, dim, options},
      [&](const Operand& a, const Operand& i) { return TakeAlong(a, i, dim, options, call); });
}

}  // namespace tessera

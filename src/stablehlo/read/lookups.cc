// Gathers and scatters.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/at.h"
#include "stablehlo/read/expressions.h"
#include "stablehlo/read/importer.h"
#include "tessera/combiners.h"
#include "tessera/control.h"
#include "tessera/lookup.h"

namespace tessera::stablehlo {
namespace {

// Returns the indices with the index vectors along their last dim.
Array VectorsLast(const ReadCall& c, const Array& indices, int64_t vector_dim) {
  const int64_t rank = api::Rank(indices);
  if (vector_dim == rank - 1) return indices;
  if (vector_dim == rank) {
    base::Shape shape = api::ShapeOf(indices);
    shape.push_back(1);
    return api::Reshape(indices, shape, c.call());
  }
  ops::TransposeParams params;
  for (int64_t d = 0; d < rank; ++d)
    if (d != vector_dim) params.perm.push_back(d);
  params.perm.push_back(vector_dim);
  return api::Run(ops::kTranspose, ir::MakeParams(params), {indices}, c.call());
}

// Returns dims of the indices after VectorsLast.
std::vector<int64_t> WithoutVector(std::vector<int64_t> dims, int64_t vector_dim) {
  for (int64_t& d : dims) d -= d > vector_dim;
  return dims;
}

// The sizes of slices: of a dynamic gather, those of the result.
std::vector<int64_t> SliceSizes(const ReadCall& c, const GatherDims& dims) {
  if (c.Has("slice_sizes")) return c.Integers("slice_sizes");
  const base::Shape result = c.ResultShape();
  std::vector<int64_t> sizes;
  for (int64_t d = 0, next = 0; d < api::Rank(c.In(0)); ++d) {
    const bool is_one =
        absl::c_linear_search(dims.collapsed, d) || absl::c_linear_search(dims.operand_batch, d);
    if (!is_one && base::Size(next) >= dims.offset.size()) c.Fail("it needs more offset_dims");
    sizes.push_back(is_one ? 1 : base::At(result, dims.offset[base::Size(next++)]));
  }
  return sizes;
}

Arrays Gather(ReadCall& c) {
  const char* const kNumbers = "dimension_numbers";
  const int64_t vector_dim = c.FieldInteger(kNumbers, "index_vector_dim", 0);
  GatherDims dims;
  dims.offset = c.FieldIntegers(kNumbers, "offset_dims");
  dims.collapsed = c.FieldIntegers(kNumbers, "collapsed_slice_dims");
  dims.start = c.FieldIntegers(kNumbers, "start_index_map");
  dims.operand_batch = c.FieldIntegers(kNumbers, "operand_batching_dims");
  dims.indices_batch =
      WithoutVector(c.FieldIntegers(kNumbers, "start_indices_batching_dims"), vector_dim);
  const GatherOptions options{.mode = LookupMode::kClip,
                              .indices_are_sorted = c.Flag("indices_are_sorted")};
  return {gather(c.In(0), VectorsLast(c, c.In(1), vector_dim), dims, Shape(SliceSizes(c, dims)),
                 options, c.loc())};
}

ScatterDims ScatterDimsOf(const ReadCall& c, int64_t vector_dim) {
  const char* const kNumbers = "scatter_dimension_numbers";
  return {.window = c.FieldIntegers(kNumbers, "update_window_dims"),
          .inserted = c.FieldIntegers(kNumbers, "inserted_window_dims"),
          .start = c.FieldIntegers(kNumbers, "scatter_dims_to_operand_dims"),
          .operand_batch = c.FieldIntegers(kNumbers, "input_batching_dims"),
          .indices_batch = WithoutVector(c.FieldIntegers(kNumbers, "scatter_indices_batching_dims"),
                                         vector_dim)};
}

// Returns the number of the element of x to which each update goes, flat; at least the size of x
// for an update that is dropped.
Array TargetsOf(const ReadCall& c, const Array& x, const Array& indices, const Array& updates,
                const ScatterDims& dims) {
  const Loc loc = c.loc();
  const base::Shape &shape = api::ShapeOf(x), &slices = api::ShapeOf(updates);
  const int64_t size = base::Elements(shape);
  const Array numbers = reshape(arange(size, {.dtype = i32}, loc), Shape(shape), {}, loc);
  base::Shape slice;
  for (size_t d = 0, next = 0; d < shape.size(); ++d) {
    const auto k = static_cast<int64_t>(d);
    const bool is_one =
        absl::c_linear_search(dims.inserted, k) || absl::c_linear_search(dims.operand_batch, k);
    if (!is_one && next >= dims.window.size()) c.Fail("it needs more update_window_dims");
    const int64_t window = is_one ? 0 : dims.window[next++];
    if (!is_one && (window < 0 || base::Size(window) >= slices.size()))
      c.Fail(fmt::format("there is no dim {} in the updates", window));
    slice.push_back(is_one ? 1 : base::At(slices, window));
  }
  const Array targets = gather(numbers, indices,
                               {.offset = dims.window,
                                .collapsed = dims.inserted,
                                .start = dims.start,
                                .operand_batch = dims.operand_batch,
                                .indices_batch = dims.indices_batch},
                               Shape(slice), {.mode = LookupMode::kFill, .fill_value = size}, loc);
  return ravel(targets, {}, loc);
}

// A function of several arrays, or one whose updates cannot be combined first: one update after the
// other.
Arrays ScatterInTurn(const ReadCall& c, const Arrays& xs, const Array& indices,
                     const Arrays& updates, const ScatterDims& dims) {
  const Loc loc = c.loc();
  for (size_t k = 0; k < xs.size(); ++k)
    if (api::ShapeOf(xs[k]) != api::ShapeOf(xs[0]) ||
        api::ShapeOf(updates[k]) != api::ShapeOf(updates[0]))
      c.Fail("its arrays, and its updates, must have one shape each");
  const int64_t size = base::Elements(api::ShapeOf(xs[0]));
  const Array targets = TargetsOf(c, xs[0], indices, updates[0], dims);
  const int64_t count = base::Elements(api::ShapeOf(updates[0]));
  if (size == 0 || count == 0) return xs;
  Arrays flat, flat_updates;
  for (const Array& x : xs) flat.push_back(ravel(x, {}, loc));
  for (const Array& u : updates) flat_updates.push_back(ravel(u, {}, loc));
  const ReadCall::OnTwo combine = c.RegionOfTwo(0, false);
  const auto element = [&](const Array& x, const Array& at) {
    return reshape(dynamic_slice(x, {at}, {1}, loc), {}, {}, loc);
  };
  const Arrays made = fori_loop(
      0, Operand(count, loc),
      [&](const Array& i, const Arrays& now) {
        const Array at = element(targets, i), fits = lt(at, Operand(size, loc), {}, loc);
        Arrays old, given;
        for (const Array& x : now) old.push_back(element(x, at));
        for (const Array& u : flat_updates) given.push_back(element(u, i));
        const Arrays combined = combine(old, given);
        if (combined.size() != old.size()) c.Fail("its region must return a value per array");
        Arrays next;
        for (size_t k = 0; k < now.size(); ++k) {
          const Array kept = where(fits, combined[k], old[k], {}, loc);
          next.push_back(dynamic_update_slice(now[k], reshape(kept, {1}, {}, loc), {at}, loc));
        }
        return next;
      },
      flat, {}, loc);
  Arrays results;
  for (size_t k = 0; k < made.size(); ++k)
    results.push_back(reshape(made[k], Shape(api::ShapeOf(xs[k])), {}, loc));
  return results;
}

// Whether updates of one element may be combined before the element is: for any function if there
// is one update for each.
enum class Combining : uint8_t { kFirst, kNegated, kInTurn };
Combining CombiningOf(const ReadCall& c) {
  if (c.op().regions.size() != 1 || c.Flag("unique_indices")) return Combining::kFirst;
  const auto made =
      ExpressionsOf(c.importer().module(), c.op().regions[0], ComparedSides::kOneAfterTheOther);
  if (made.size() != 1) return Combining::kFirst;
  if (made[0] == "subtract(l0,r0)") return Combining::kNegated;
  if (made[0] == "r0") return Combining::kFirst;
  for (const char* name : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
    for (const char* operands : {"(l0,r0)", "(r0,l0)"})
      if (made[0] == absl::StrCat(name, operands)) return Combining::kFirst;
  return Combining::kInTurn;
}

Arrays Scatter(ReadCall& c) {
  const size_t n = c.in.size() / 2;
  if (c.in.size() != 2 * n + 1 || n == 0) c.Fail("it needs as many updates as arrays, and indices");
  const int64_t vector_dim = c.FieldInteger("scatter_dimension_numbers", "index_vector_dim", 0);
  const ScatterDims dims = ScatterDimsOf(c, vector_dim);
  const Array indices = VectorsLast(c, c.In(n), vector_dim);
  const ScatterOptions options{.mode = LookupMode::kDrop,
                               .indices_are_sorted = c.Flag("indices_are_sorted"),
                               .unique_indices = c.Flag("unique_indices")};
  const Combining combining = n == 1 ? CombiningOf(c) : Combining::kInTurn;
  if (combining == Combining::kNegated)
    return {scatter_add(c.In(0), indices, neg(c.In(2), c.loc()), dims, options, c.loc())};
  if (combining == Combining::kInTurn) {
    const auto middle = c.in.begin() + static_cast<ptrdiff_t>(n);
    return ScatterInTurn(c, Arrays(c.in.begin(), middle), indices, Arrays(middle + 1, c.in.end()),
                         dims);
  }
  const auto combine = [&c, f = c.RegionOfTwo(0, false)](const Array& a, const Array& b) {
    return c.Only(f({a}, {b}));
  };
  return {scatter(c.In(0), indices, c.In(2), combine, dims, options, c.loc())};
}

// Slices of dim `dim` at indices, whose first dims correspond to those of the operand.
Arrays TorchIndexSelect(ReadCall& c) {
  const int64_t dim = c.Integer("dim"), batch = c.Integer("batch_dims", 0);
  const Array &x = c.In(0), &indices = c.In(1);
  if (batch < 0 || batch > api::Rank(indices) || dim < batch || dim >= api::Rank(x))
    c.Fail(fmt::format("there is no dim {} after {} dims in common", dim, batch));
  GatherDims dims;
  base::Shape slice = api::ShapeOf(x);
  for (int64_t d = 0; d < batch; ++d) {
    dims.operand_batch.push_back(d);
    dims.indices_batch.push_back(d);
    slice[base::Size(d)] = 1;
  }
  slice[base::Size(dim)] = 1;
  dims.collapsed = dims.start = {dim};
  const int64_t rank = api::Rank(x), added = api::Rank(indices) - batch;
  for (int64_t d = batch, at = batch; d < rank; ++d) {
    if (d == dim)
      at += added;
    else
      dims.offset.push_back(at++);
  }
  return {gather(x, expand_dims(indices, -1, c.loc()), dims, Shape(slice),
                 {.mode = LookupMode::kClip}, c.loc())};
}

}  // namespace

std::vector<OpReader> LookupReaders() {
  return {
      {"stablehlo.dynamic_gather", Gather},
      {"stablehlo.gather", Gather},
      {"stablehlo.scatter", Scatter},
      {"stablehlo.torch_index_select", TorchIndexSelect},
  };
}

}  // namespace tessera::stablehlo

// Gathers and scatters.
#include <algorithm>

#include "stablehlo/read/importer.h"
#include "tessera/combiners.h"
#include "tessera/lookup.h"

namespace tessera::stablehlo {
namespace {

// Returns the indices with the index vectors along their last dim.
Array VectorsLast(const OpCall& c, const Array& indices, int64_t vector_dim) {
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

Arrays Gather(OpCall& c) {
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
  return {gather(c.In(0), VectorsLast(c, c.In(1), vector_dim), dims,
                 Shape(c.Integers("slice_sizes")), options, c.loc())};
}

Arrays Scatter(OpCall& c) {
  const char* const kNumbers = "scatter_dimension_numbers";
  if (c.in.size() != 3) c.Fail("a scatter of several arrays is not supported");
  const int64_t vector_dim = c.FieldInteger(kNumbers, "index_vector_dim", 0);
  ScatterDims dims;
  dims.window = c.FieldIntegers(kNumbers, "update_window_dims");
  dims.inserted = c.FieldIntegers(kNumbers, "inserted_window_dims");
  dims.start = c.FieldIntegers(kNumbers, "scatter_dims_to_operand_dims");
  dims.operand_batch = c.FieldIntegers(kNumbers, "input_batching_dims");
  dims.indices_batch =
      WithoutVector(c.FieldIntegers(kNumbers, "scatter_indices_batching_dims"), vector_dim);
  const ScatterOptions options{.mode = LookupMode::kDrop,
                               .indices_are_sorted = c.Flag("indices_are_sorted"),
                               .unique_indices = c.Flag("unique_indices")};
  const auto combine = [f = c.RegionOfTwo(0, false)](const Array& a, const Array& b) {
    return f({a}, {b}).at(0);
  };
  return {scatter(c.In(0), VectorsLast(c, c.In(1), vector_dim), c.In(2), combine, dims, options,
                  c.loc())};
}

}  // namespace

std::vector<OpReader> LookupReaders() {
  return {
      {"stablehlo.gather", Gather},
      {"stablehlo.scatter", Scatter},
  };
}

}  // namespace tessera::stablehlo

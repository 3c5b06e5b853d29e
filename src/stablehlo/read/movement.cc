// Operations that move elements.
#include <algorithm>

#include "base/at.h"
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {
namespace {

Arrays Reshape(ReadCall& c) { return {api::Reshape(c.In(0), c.ResultShape(), c.call())}; }

Arrays Transpose(ReadCall& c) {
  const ops::TransposeParams params{{c.Integers("permutation")}};
  return {c.Run(ops::kTranspose, ir::MakeParams(params), c.in)};
}

Arrays BroadcastInDim(ReadCall& c) {
  const ops::BroadcastParams params{{c.Integers("broadcast_dimensions")}};
  return {c.Run(ops::kBroadcastInDim, ir::MakeParams(params), c.in)};
}

Arrays Slice(ReadCall& c) {
  const std::vector<int64_t> starts = c.Integers("start_indices");
  const ops::SliceParams params{starts, c.Integers("limit_indices"),
                                c.Integers("strides", starts.size(), 1)};
  return {c.Run(ops::kSlice, ir::MakeParams(params), c.in)};
}

Arrays Pad(ReadCall& c) {
  const ops::PadParams params{c.Integers("edge_padding_low"), c.Integers("edge_padding_high"),
                              c.Integers("interior_padding")};
  return {c.Run(ops::kPad, ir::MakeParams(params), c.in)};
}

Arrays Concatenate(ReadCall& c) {
  const ops::DimParams params{{c.Integer("dimension")}};
  return {c.Run(ops::kConcatenate, ir::MakeParams(params), c.in)};
}

Arrays Reverse(ReadCall& c) {
  std::vector<int64_t> dims = c.Integers("dimensions");
  std::sort(dims.begin(), dims.end());
  const ops::DimsParams params{{dims}};
  return {c.Run(ops::kRev, ir::MakeParams(params), c.in)};
}

DType SignedOf(DType t) {
  const int size = t.size();
  return size == 8 ? i64 : size == 4 ? i32 : size == 2 ? i16 : i8;
}

// XLA takes the bits of a constant start as those of a signed number: 200 : ui8 clamps to 0.
Arrays DynamicSlice(ReadCall& c) {
  Arrays operands = c.in;
  for (size_t k = 1; k < operands.size(); ++k) {
    const DType t = api::TypeOf(operands[k])->dtype();
    if (!t.is_unsigned()) continue;
    const Operation* made = c.DefinitionOf(k);
    if (made && made->name == "stablehlo.constant")
      operands[k] = bitcast_convert_type(operands[k], SignedOf(t), c.loc());
  }
  return {c.Run(ops::kDynamicSlice, nullptr, operands)};
}
Arrays DynamicUpdateSlice(ReadCall& c) { return {c.Run(ops::kDynamicUpdateSlice, nullptr, c.in)}; }

// ---- sizes that are values ----------------------------------------------------------------------
// The types of these texts have the sizes, so the operands that repeat them are not read.

Arrays DynamicBroadcastInDim(ReadCall& c) {
  const ops::BroadcastParams params{{c.Integers("broadcast_dimensions")}};
  return {c.Run(ops::kBroadcastInDim, ir::MakeParams(params), {c.In(0)})};
}

Arrays Broadcast(ReadCall& c) {
  ops::BroadcastParams params;
  const int64_t added = static_cast<int64_t>(c.ResultShape().size()) - api::Rank(c.In(0));
  for (int64_t d = 0; d < api::Rank(c.In(0)); ++d) params.dims.push_back(added + d);
  return {c.Run(ops::kBroadcastInDim, ir::MakeParams(params), {c.In(0)})};
}

Arrays GetDimensionSize(ReadCall& c) {
  const int64_t dim = c.Integer("dimension");
  const base::Shape& shape = api::ShapeOf(c.In(0));
  if (dim < 0 || dim >= static_cast<int64_t>(shape.size())) c.Fail("there is no such dim");
  return {api::StrongScalar(shape[base::Size(dim)], c.ResultDType(), c.call())};
}

// Returns 0, 1, ... along a dim of the result.
Array Along(const ReadCall& c, int64_t n) { return arange(n, {.dtype = i32}, c.loc()); }
Array NumberAt(const ReadCall& c, const Array& list, size_t d) {
  const auto at = static_cast<int64_t>(d);
  return astype(reshape(slice(list, {at}, {at + 1}, {}, c.loc()), {}, {}, c.loc()), i32, c.loc());
}

// Starts and strides are values; so each dim is a lookup.
Arrays RealDynamicSlice(ReadCall& c) {
  Array x = c.In(0);
  const base::Shape shape = c.ResultShape();
  for (size_t d = 0; d < shape.size(); ++d) {
    const Array start = NumberAt(c, c.In(1), d), stride = NumberAt(c, c.In(3), d);
    const Array at = add(start, mul(Along(c, shape[d]), stride, {}, c.loc()), {}, c.loc());
    x = take(x, at, static_cast<int>(d), {}, c.loc());
  }
  return {x};
}

// Position r of a padded dim has the element (r - low) / (interior + 1), if that is whole.
Arrays DynamicPad(ReadCall& c) {
  const Loc loc = c.loc();
  Array x = c.In(0);
  const base::Shape shape = c.ResultShape();
  for (size_t d = 0; d < shape.size(); ++d) {
    const Operand zero(0, loc), n(api::ShapeOf(x)[d], loc);
    const Array step = add(NumberAt(c, c.In(4), d), Operand(1, loc), {}, loc);
    const Array from = sub(Along(c, shape[d]), NumberAt(c, c.In(2), d), {}, loc);
    const Array at = div(from, step, {}, loc);
    Array held = logical_and(ge(from, zero, {}, loc), lt(at, n, {}, loc), {}, loc);
    held = logical_and(held, eq(rem(from, step, {}, loc), zero, {}, loc), {}, loc);
    if (api::ShapeOf(x)[d] > 0)
      x = take(x, clamp(zero, at, sub(n, Operand(1, loc), {}, loc), loc), static_cast<int>(d), {},
               loc);
    base::Shape along(shape.size(), 1);
    along[d] = shape[d];
    x = where(reshape(held, Shape(along), {}, loc), x, c.In(1), {}, loc);
  }
  return {x};
}

Arrays OptimizationBarrier(ReadCall& c) {
  Arrays results;
  for (const Array& x : c.in)
    results.push_back(api::Run(ops::kOptimizationBarrier, nullptr, {x}, c.call()));
  return results;
}

}  // namespace

std::vector<OpReader> MovementReaders() {
  return {
      {"stablehlo.broadcast", Broadcast},
      {"stablehlo.broadcast_in_dim", BroadcastInDim},
      {"stablehlo.concatenate", Concatenate},
      {"stablehlo.dynamic_broadcast_in_dim", DynamicBroadcastInDim},
      {"stablehlo.dynamic_pad", DynamicPad},
      {"stablehlo.dynamic_reshape", Reshape},
      {"stablehlo.dynamic_slice", DynamicSlice},
      {"stablehlo.dynamic_update_slice", DynamicUpdateSlice},
      {"stablehlo.get_dimension_size", GetDimensionSize},
      {"stablehlo.optimization_barrier", OptimizationBarrier},
      {"stablehlo.pad", Pad},
      {"stablehlo.real_dynamic_slice", RealDynamicSlice},
      {"stablehlo.reshape", Reshape},
      {"stablehlo.reverse", Reverse},
      {"stablehlo.slice", Slice},
      {"stablehlo.transpose", Transpose},
  };
}

}  // namespace tessera::stablehlo

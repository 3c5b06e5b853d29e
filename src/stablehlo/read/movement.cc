// Operations that move elements.
#include <algorithm>

#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {
namespace {

Arrays Reshape(OpCall& c) { return {api::Reshape(c.In(0), c.ResultShape(), c.call())}; }

Arrays Transpose(OpCall& c) {
  const ops::TransposeParams params{{c.Integers("permutation")}};
  return {c.Run(ops::kTranspose, ir::MakeParams(params), c.in)};
}

Arrays BroadcastInDim(OpCall& c) {
  const ops::BroadcastParams params{{c.Integers("broadcast_dimensions")}};
  return {c.Run(ops::kBroadcastInDim, ir::MakeParams(params), c.in)};
}

Arrays Slice(OpCall& c) {
  const std::vector<int64_t> starts = c.Integers("start_indices");
  const ops::SliceParams params{starts, c.Integers("limit_indices"),
                                c.Integers("strides", starts.size(), 1)};
  return {c.Run(ops::kSlice, ir::MakeParams(params), c.in)};
}

Arrays Pad(OpCall& c) {
  const ops::PadParams params{c.Integers("edge_padding_low"), c.Integers("edge_padding_high"),
                              c.Integers("interior_padding")};
  return {c.Run(ops::kPad, ir::MakeParams(params), c.in)};
}

Arrays Concatenate(OpCall& c) {
  const ops::DimParams params{{c.Integer("dimension")}};
  return {c.Run(ops::kConcatenate, ir::MakeParams(params), c.in)};
}

Arrays Reverse(OpCall& c) {
  std::vector<int64_t> dims = c.Integers("dimensions");
  std::sort(dims.begin(), dims.end());
  const ops::DimsParams params{{dims}};
  return {c.Run(ops::kRev, ir::MakeParams(params), c.in)};
}

Arrays DynamicSlice(OpCall& c) { return {c.Run(ops::kDynamicSlice, nullptr, c.in)}; }
Arrays DynamicUpdateSlice(OpCall& c) { return {c.Run(ops::kDynamicUpdateSlice, nullptr, c.in)}; }

Arrays OptimizationBarrier(OpCall& c) {
  Arrays results;
  for (const Array& x : c.in)
    results.push_back(api::Run(ops::kOptimizationBarrier, nullptr, {x}, c.call()));
  return results;
}

}  // namespace

std::vector<OpReader> MovementReaders() {
  return {
      {"stablehlo.broadcast_in_dim", BroadcastInDim},
      {"stablehlo.concatenate", Concatenate},
      {"stablehlo.dynamic_slice", DynamicSlice},
      {"stablehlo.dynamic_update_slice", DynamicUpdateSlice},
      {"stablehlo.optimization_barrier", OptimizationBarrier},
      {"stablehlo.pad", Pad},
      {"stablehlo.reshape", Reshape},
      {"stablehlo.reverse", Reverse},
      {"stablehlo.slice", Slice},
      {"stablehlo.transpose", Transpose},
  };
}

}  // namespace tessera::stablehlo

// Dimension maps of ops whose operands and results are pieces of one another.
#pragma once
#include "ir/op.h"
#include "sharding/dim_map.h"

namespace tessera::ops {

// Returns a map of one factor per dim, which the first `with` operands and the result share. A
// factor for which `moved` holds is not a pass factor. Other operands are scalars.
template <class F>
sharding::DimMap PieceDims(const ir::DimsCall& c, size_t with, F moved,
                           sharding::FactorKind of_same_size = sharding::FactorKind::kPermute) {
  using sharding::FactorKind;
  sharding::DimMap map;
  sharding::DimFactors dims;
  for (size_t d = 0; d < c.operands[0]->size(); ++d) {
    const int64_t size = (*c.operands[0])[d];
    const bool keeps_size = (*c.results[0])[d] == size;
    FactorKind kind = keeps_size ? of_same_size : FactorKind::kPermute;
    dims.push_back({map.AddFactor({.size = size, .kind = moved(d) ? kind : FactorKind::kPass})});
  }
  for (size_t i = 0; i < c.operands.size(); ++i)
    map.operands.push_back(i < with ? dims : sharding::DimFactors{});
  map.results = {dims};
  sharding::LinearGroup group{.operands = {}, .kinds = sharding::kAnyKind};
  for (size_t i = 0; i < with; ++i) group.operands.push_back(static_cast<int32_t>(i));
  map.linear = {group};
  return map;
}

// Returns the map of an op that cuts dims.
inline sharding::DimMap CutDims(const ir::DimsCall& c) {
  return PieceDims(c, 1, [&](size_t d) { return (*c.operands[0])[d] != (*c.results[0])[d]; });
}

// Return the params of a pad and of a slice along one dim.
ir::ParamsPtr PadAlong(size_t rank, size_t dim, int64_t low, int64_t high);
ir::ParamsPtr SliceAlong(const base::Shape& shape, size_t dim, int64_t begin, int64_t end);

}  // namespace tessera::ops

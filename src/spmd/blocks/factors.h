// Dims and factors of one tensor.
#pragma once
#include <algorithm>

#include "sharding/dim_map.h"

namespace tessera::spmd {

inline constexpr int kNoDim = -1;

// Returns the factor that a dim is alone, or -1.
inline int32_t FactorOf(const sharding::DimFactors& dims, int dim) {
  const sharding::FactorList& list = base::At(dims, dim);
  return list.size() == 1 ? list[0] : -1;
}
// Returns the dim that a factor is alone, or kNoDim.
inline int DimOf(const sharding::DimFactors& dims, int32_t factor) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].size() == 1 && dims[d][0] == factor) return static_cast<int>(d);
  return kNoDim;
}
// Whether a factor stands beside others in a dim.
inline bool IsMixed(const sharding::DimFactors& dims, int32_t factor) {
  return std::any_of(dims.begin(), dims.end(), [factor](const sharding::FactorList& list) {
    return list.size() > 1 && std::find(list.begin(), list.end(), factor) != list.end();
  });
}

}  // namespace tessera::spmd

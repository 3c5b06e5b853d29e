// Dims and factors of one tensor.
#pragma once
#include <absl/algorithm/container.h>

#include "base/at.h"
#include "sharding/dim_map.h"

namespace tessera::spmd {

inline constexpr int kNoDim = -1;

// Returns the only factor of a dim; -1 if it has none or several.
inline int32_t FactorOf(const sharding::DimFactors& dims, int dim) {
  const sharding::FactorList& list = base::At(dims, dim);
  return list.size() == 1 ? list[0] : -1;
}
// Returns the dim whose only factor this is, or kNoDim.
inline int DimOf(const sharding::DimFactors& dims, int32_t factor) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].size() == 1 && dims[d][0] == factor) return static_cast<int>(d);
  return kNoDim;
}
// Whether a dim has this factor and others.
inline bool IsMixed(const sharding::DimFactors& dims, int32_t factor) {
  return absl::c_any_of(dims, [factor](const sharding::FactorList& list) {
    return list.size() > 1 && absl::c_linear_search(list, factor);
  });
}

}  // namespace tessera::spmd

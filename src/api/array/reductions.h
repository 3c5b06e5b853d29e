// Reductions over dims, from which public functions are composed.
#pragma once
#include "api/core/operands.h"

namespace tessera::api {

struct Reduced {
  const ir::OpDef& op;
  std::vector<int64_t> dims;
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
Array Reduce(const Array& x, Reduced r, Call call);
// Returns the number of elements along the dims.
double Count(const Array& x, const std::vector<int64_t>& dims);

}  // namespace tessera::api

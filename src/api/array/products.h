// Products, from which matmul and einsum are composed.
#pragma once
#include <optional>
#include <vector>

#include "api/core/operands.h"

namespace tessera::api {

// Applies dot_general to arrays of any two dtypes. Bools are multiplied in i32, and the result is
// bool unless the options ask for another dtype.
Array Dot(Array a, Array b, const DotDims& dims, const DotOptions& options, Call call);
// Returns the spec with entry order[d] at dim d, and further entries unchanged.
std::optional<PartitionSpec> Permuted(const std::optional<PartitionSpec>& spec,
                                      const std::vector<int64_t>& order);
// Whether these are 0, 1, 2, ...
bool IsIota(const std::vector<int64_t>& v);

}  // namespace tessera::api

// Products, as matmul and einsum are made of them.
#pragma once
#include <optional>
#include <vector>

#include "api/core/operands.h"

namespace tessera::api {

// Applies dot_general to arrays of any two dtypes.
// Products of bools are taken in i32, and come back as bool where nothing else is asked for.
Array Dot(Array a, Array b, const DotDims& dims, const DotOptions& options, Call call);
// The entries of a spec in the order in which dot_general gives the dims.
std::optional<PartitionSpec> Permuted(const std::optional<PartitionSpec>& spec,
                                      const std::vector<int64_t>& order);
// Whether these are 0, 1, 2, ...
bool IsIota(const std::vector<int64_t>& v);

}  // namespace tessera::api

// Element numbers along a dim, with which functions build masks.
#pragma once
#include "api/core/operands.h"

namespace tessera::api {

// Returns 0, 1, ... along `dim` of x, and size 1 in the other dims. Each device counts the elements
// of its own shard.
Array Positions(const Array& x, int64_t dim, DType dtype, Call call);
// Returns 0, 1, ..., n - 1 along dim `dim` of an array of this rank, the same on all devices.
Array Positions(int64_t n, int64_t dim, int64_t rank, DType dtype, Call call);

}  // namespace tessera::api

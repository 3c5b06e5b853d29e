// Lookups by index arrays, from which public functions are composed.
#pragma once
#include <optional>
#include <vector>

#include "api/core/operands.h"
#include "ops/params.h"

namespace tessera::api {

// Returns the indices into a dim of this size, with negative ones counted from its end. Throws
// DTypeError if they are not integers. A CheckedIndices checks them if `is_checked`.
Array FromEnd(const Array& indices, int64_t size, Call call, bool is_checked);
// Returns the bits of the value for indices out of bounds. The default is NaN, the lowest signed or
// the highest unsigned number.
base::ElementBits FillBits(const std::optional<Scalar>& value, DType dtype, Call call);

// Apply the ops. If an out_sharding names no unreduced or reduced axes, the operands are first
// summed over their unreduced axes.
Array Gather(const Array& x, const Array& indices, ops::GatherParams params,
             const base::Shape& result, const std::optional<PartitionSpec>& out_sharding,
             Call call);
Array Scatter(const ir::OpDef& op, const Array& x, const Array& indices, const Array& updates,
              ops::ScatterParams params, const std::optional<PartitionSpec>& out_sharding,
              Call call);

}  // namespace tessera::api

// Lookups by index arrays, as public functions are made of them.
#pragma once
#include <optional>
#include <vector>

#include "api/core/operands.h"
#include "ops/params.h"

namespace tessera::api {

// Returns integer indices into a dim of this size, negative ones counted from its end. Throws
// DTypeError for other dtypes.
Array FromEnd(const Array& indices, int64_t size, Call call);
// Returns the bits of what stands for elements outside.
uint64_t FillBits(const std::optional<Scalar>& value, DType dtype, Call call);

// Apply the ops. With an out_sharding, operands are first summed over what they are unreduced over,
// unless it says otherwise.
Array Gather(const Array& x, const Array& indices, ops::GatherParams params,
             const base::Shape& result, const std::optional<PartitionSpec>& out_sharding,
             Call call);
Array Scatter(const ir::OpDef& op, const Array& x, const Array& indices, const Array& updates,
              ops::ScatterParams params, const std::optional<PartitionSpec>& out_sharding,
              Call call);

}  // namespace tessera::api

// Reshards and constraints, as public functions ask for them.
#pragma once
#include "api/core/operands.h"

namespace tessera::api {

// Returns x laid out so. Throws ShardingError where it cannot be.
Array ReshardTo(const Array& x, const sharding::TensorSharding& to, Call call);
Array ReshardTo(const Array& x, const PartitionSpec& to, Call call);
// As with_sharding_constraint; errors are `call`'s.
Array Constrained(const Array& x, const PartitionSpec& spec, Call call);

}  // namespace tessera::api

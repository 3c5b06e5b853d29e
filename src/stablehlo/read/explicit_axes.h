// Types over Explicit axes.
#pragma once
#include <vector>

#include "sharding/tensor_sharding.h"
#include "stablehlo/read/read_call.h"

namespace tessera::stablehlo {

// Returns the part of a sharding over the axes that have this mode in `modes`.
sharding::TensorSharding Over(AxisMode mode, const sharding::MeshDef& modes,
                              sharding::TensorSharding s);
// Returns the part over Explicit axes as types have it: no dim is open.
sharding::TensorSharding OverExplicit(const sharding::MeshDef& modes, sharding::TensorSharding s);

// Returns the results of an operation. If the rules of Explicit axes refuse it, `stated` decides:
// the shardings that constraints right after it ask for, one per result, as JAX writes the
// out_sharding of a call. Throws the first error if there are none, or if they do not help.
Arrays ReadStated(const OpReader& reader, ReadCall& call, const std::vector<PartitionSpec>& stated);

}  // namespace tessera::stablehlo

// Kernels that may run on one tile of their first operand after the other.
#pragma once
#include <optional>

#include "spmd/definitions.h"

namespace tessera::spmd {

// Returns the number of leading dims of operand 0 to loop over, so that a tile of the operand, one
// index of those dims, stays in the cache. None if running on tiles does not pay, or if the results
// of a tile are not one tile of the result.
std::optional<int64_t> TileDims(const ir::Program& device, const ir::Instruction& instruction);

}  // namespace tessera::spmd

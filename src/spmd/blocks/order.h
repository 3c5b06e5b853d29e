// Orders of instructions.
#pragma once
#include <vector>

#include "spmd/definitions.h"

namespace tessera::spmd {

// Whether each group of instructions can run as one: no two groups wait for each other. An
// instruction in several groups counts for the first.
bool CanBeOrdered(const ir::Program& p, const std::vector<std::vector<InstructionId>>& groups);

// Moves instructions after the definitions of their operands, and keeps their order otherwise. The
// instructions have no effects.
void Order(ir::Program& p);

}  // namespace tessera::spmd

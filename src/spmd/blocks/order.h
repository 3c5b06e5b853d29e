// Orders of instructions.
#pragma once
#include <vector>

#include "ir/program.h"

namespace tessera::spmd {

// Whether each group of instructions can run as one: none waits for another that waits for it. What
// several groups do counts for the first.
bool CanBeOrdered(const ir::Program& p, const std::vector<std::vector<size_t>>& groups);

// Orders instructions so that values are made before they are read, and otherwise as they are. They
// have no effects.
void Order(ir::Program& p);

}  // namespace tessera::spmd

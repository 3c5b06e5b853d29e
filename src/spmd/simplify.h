// Dead code and common subexpressions of device programs.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Removes instructions whose results nothing uses, and instructions equal to an earlier one.
void Simplify(ir::Program& device);

}  // namespace tessera::spmd

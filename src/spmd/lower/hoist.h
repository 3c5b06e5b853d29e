// Moves work of loops and branches out of them.
#pragma once
#include <vector>

#include "ir/program.h"
#include "spmd/lower/op_emitter.h"

namespace tessera::spmd {

// Moves instructions out of the regions that depend only on operands of the loop or branch:
// collectives and work that are the same in every iteration, and slices. Their results become
// operands, and inputs of the regions. Returns the parameters of the loop or branch with these
// constants added.
ir::ParamsPtr Hoist(const ir::Instruction& instruction, std::vector<ir::Program>& regions,
                    std::vector<ir::ValueId>& operands, Draft& draft, OpEmitter& emitter);

}  // namespace tessera::spmd

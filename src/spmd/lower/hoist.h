// Work of loops and branches that is done before them.
#pragma once
#include <vector>

#include "ir/program.h"
#include "spmd/lower/op_emitter.h"

namespace tessera::spmd {

// Moves instructions of the regions that depend on operands of the loop or branch alone before it:
// collectives and work that are the same in every iteration, and slices. Their results become
// operands, and inputs of the regions. Returns the parameters of the loop or branch with as many
// more constants.
ir::ParamsPtr Hoist(const ir::Instruction& instruction, std::vector<ir::Program>& regions,
                    std::vector<ir::ValueId>& operands, Draft& draft, OpEmitter& emitter);

}  // namespace tessera::spmd

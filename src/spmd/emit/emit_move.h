// Moves between shardings as nodes of the plan.
#pragma once
#include "spmd/emit/program_emitter.h"

namespace tessera::spmd {

// Adds a step for each local move of the item, and an exchange for each other move. The exchanges
// run together with the first of them.
void EmitMoves(ProgramEmitter& emitter, const MoveItem& item);

}  // namespace tessera::spmd

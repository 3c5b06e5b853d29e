// Loops and branches as nodes of the plan.
#pragma once
#include "spmd/emit/program_emitter.h"

namespace tessera::spmd {

// Adds a loop or a switch. If devices run the instruction independently, adds a step whose kernel
// runs a plan of its own on each device.
void EmitRegions(ProgramEmitter& emitter, const RegionItem& item);

}  // namespace tessera::spmd

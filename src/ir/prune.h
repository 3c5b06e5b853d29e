// Pruning of loops and branches.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Removes operands, region inputs, region outputs and results of instructions with regions, if no
// output of the program needs their data-flow edge. Instructions that become unneeded stay, except
// in regions that changed. Calls with users' rules are left alone.
void PruneRegions(Program& program);

}  // namespace tessera::ir

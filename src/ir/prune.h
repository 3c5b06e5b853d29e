// What loops and branches need not compute.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Removes from instructions with regions the operands, region inputs, region outputs and results
// that no output of the program needs: what comes along a data-flow edge that none of them is read
// from. Instructions that nothing needs any more stay where they are, but for those of regions that
// changed. Calls of users' rules stay as they are.
void PruneRegions(Program& program);

}  // namespace tessera::ir

// Chooses the workers of each node.
#pragma once
#include "runtime/executable.h"

namespace tessera::runtime {

// Whether all workers run the step together, one part each, in a node of mode kSplit.
bool Splits(const ReadyStep& step, bool forced);

// Fills `assignment` for its number of workers. `forced`: treat all work as large.
void AssignWork(const Executable& executable, int workers, bool forced, Assignment& assignment);

}  // namespace tessera::runtime

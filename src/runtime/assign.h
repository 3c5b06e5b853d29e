// Which workers do which nodes.
#pragma once
#include "runtime/executable.h"

namespace tessera::runtime {

// True if the step runs on all workers at once in a node of mode kSplit.
bool Splits(const ReadyStep& step, bool forced);

// Fills `assignment` for a number of workers. `forced`: as if all work were large.
void AssignWork(const Executable& executable, int workers, bool forced, Assignment& assignment);

}  // namespace tessera::runtime

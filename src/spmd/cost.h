// What device programs cost, loops and branches included.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Work; a loop of unknown trip count counts as one iteration, of branches that with the most work.
struct Flops {
  double device = 0;  // on each device
  double whole = 0;   // if nothing were done twice, on all devices together
};
Flops FlopsOf(const ir::Program& device);

// Bytes that leave a device; a loop of unknown trip count counts as one iteration, and all branches
// count.
double SentBytes(const ir::Program& device);

// How often a region runs each time that its instruction does.
struct Times {
  int64_t times = 1;
  bool known = true;  // else `times` is that of one iteration
};
Times TimesOf(const ir::Instruction& instruction);

}  // namespace tessera::spmd

// Costs of device programs, loops and branches included.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// A loop of unknown trip count counts as one iteration. Of branches, the one with the most work
// counts.
struct Flops {
  double device = 0;  // on each device
  double whole = 0;   // on all devices together, if none repeated the work of another
};
Flops FlopsOf(const ir::Program& device);

// Returns the bytes that leave a device. A loop of unknown trip count counts as one iteration. All
// branches count.
double SentBytes(const ir::Program& device);

// How often a region runs each time that its instruction runs.
struct Times {
  int64_t times = 1;
  bool known = true;  // else `times` is 1
};
Times TimesOf(const ir::Instruction& instruction);

}  // namespace tessera::spmd

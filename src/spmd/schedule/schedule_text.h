// Text of a schedule, for people and golden tests; nothing reads it back.
#pragma once
#include <string>

#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Returns the items in their order, a line each and one per member of a fused group, with the
// layout of what they make. Values have the numbers that they have in the text of the device
// program.
std::string Text(const Schedule& schedule, const ir::Program& device);

}  // namespace tessera::spmd

// Text of a schedule, for people and golden tests; nothing reads it back.
#pragma once
#include <string>

#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Returns the items in order: a line each, and a line for every member of a fused group, with the
// layouts of their results. Values are numbered as in the text of the device program.
std::string Text(const Schedule& schedule, const ir::Program& device);

}  // namespace tessera::spmd

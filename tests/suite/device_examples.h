// Lowered calls: an example of each op that occurs only in device programs.
#pragma once
#include <string>

#include "ir/op.h"

namespace tessera::suite {

// Returns the op's line in the device program of a call, or "" for an op that users call.
std::string DeviceExample(const ir::OpDef& op);

}  // namespace tessera::suite

// What lowering makes of calls: an example of each op that only device programs have.
#pragma once
#include <string>

#include "ir/op.h"

namespace tessera::suite {

// Returns the op's line in the device program of a call; "" for an op that calls are made of.
std::string DeviceExample(const ir::OpDef& op);

}  // namespace tessera::suite

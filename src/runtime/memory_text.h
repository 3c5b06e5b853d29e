// Text of where the values of a plan are in memory, for people and golden tests.
#pragma once
#include <string>

#include "plan/plan.h"

namespace tessera::runtime {

// Returns where a run would have each value: a slot of its block or of a worker's frame, in place
// of another value, or elsewhere.
std::string MemoryText(const plan::Plan& plan);

}  // namespace tessera::runtime

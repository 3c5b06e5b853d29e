// Text of a plan, for people and golden tests; nothing reads it back.
#pragma once
#include <string>

#include "plan/plan.h"

namespace tessera::plan {

// Returns the values, then the nodes in their order. Of an exchange it shows the boxes, and the
// pieces of the first instances.
std::string Text(const Plan& plan);

}  // namespace tessera::plan

// The text of a plan, for people and golden tests. Nothing reads it back.
#pragma once
#include <string>

#include "plan/plan.h"

namespace tessera::plan {

// Returns the values, then the nodes in order. An exchange shows its boxes and the pieces of its
// first instances.
std::string Text(const Plan& plan);

}  // namespace tessera::plan

// The text of the memory plan, for people and golden tests.
#pragma once
#include <string>

#include "plan/plan.h"

namespace tessera::runtime {

// Returns where a run places each value: at an offset in the run's block or in a worker's frame, in
// place of another value, or elsewhere.
std::string MemoryText(const plan::Plan& plan);

}  // namespace tessera::runtime

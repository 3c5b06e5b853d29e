// Plans made ready to run.
#pragma once
#include <cstdint>
#include <memory>

#include "plan/plan.h"

namespace tessera::runtime {

// A plan made ready: slots assigned, exchanges prepared, costs added up. Immutable; shareable.
struct Executable;
std::shared_ptr<const Executable> Prepare(plan::Plan plan);
// Returns the plan that it was made of.
const plan::Plan& PlanOf(const Executable& executable);
// Returns how long a run on one worker takes, about: all ways of its branches together.
double SecondsOf(const Executable& executable);

}  // namespace tessera::runtime

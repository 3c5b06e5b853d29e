// Plans prepared to run.
#pragma once
#include <cstdint>
#include <memory>

#include "plan/plan.h"

namespace tessera::runtime {

// A prepared plan: memory assigned, exchanges prepared, costs summed. Immutable and shareable.
struct Executable;
std::shared_ptr<const Executable> Prepare(plan::Plan plan);
// Returns the plan that it was made from.
const plan::Plan& PlanOf(const Executable& executable);
// Returns the estimated time of a run on one worker. All branches of a switch count.
double SecondsOf(const Executable& executable);

}  // namespace tessera::runtime

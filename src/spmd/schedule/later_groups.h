// Ops that run in the group that reads their results, not in the group that they joined first.
#pragma once
#include "spmd/schedule/fusion_groups.h"

namespace tessera::spmd {

// Moves elementwise members of a group to a later group that alone reads their results, if no more
// bytes are then in memory between the two: `x / norm` joins the sum of squares of x, but the step
// that uses it may as well read x.
void MoveToReaders(const ir::Program& device, FusionGroups& found, const ScheduledValues& values);

}  // namespace tessera::spmd

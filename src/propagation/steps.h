// One step at one op: how the axes of its factors move between its tensors.
#pragma once
#include "propagation/factors.h"

namespace tessera::propagation::engine {

struct StepCall {
  const Rule& rule;
  bool elementwise;
  absl::Span<const Direction> directions;  // per factor
};

// All or nothing: a factor's axes move to all of its tensors as far as every one of them takes
// them.
void BasicStep(const StepCall& call, OpState& projection);

// Conflicts are resolved tensor by tensor and factor by factor: where two factors want one axis in
// a tensor, that of the larger source tensor gets it.
void AggressiveStep(const StepCall& call, OpState& projection);

}  // namespace tessera::propagation::engine

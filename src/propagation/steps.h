// One step at one op: moves the axes of its factors between its tensors.
#pragma once
#include "propagation/factors.h"

namespace tessera::propagation::engine {

struct StepCall {
  const Rule& rule;
  bool elementwise;
  absl::Span<const Direction> directions;  // by factor
};

// Moves a factor's axes to all of its tensors, as far as every one of them can take them.
void TakeBasicStep(const StepCall& call, OpState& projection);

// Resolves conflicts tensor by tensor and factor by factor: if two factors want one axis in a
// tensor, the factor with the larger source tensor gets it.
void TakeAggressiveStep(const StepCall& call, OpState& projection);

}  // namespace tessera::propagation::engine

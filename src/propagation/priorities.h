// The two outer layers: whose wishes go first.
#pragma once
#include "propagation/fixpoint.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Shardy's order of ops: those that only pass shardings on, where nothing else looks at their
// operands; then all of those; then all factors that are of operands and results; then all
// factors, and of ops that repeat their operand only backward until the last round. Each round adds
// to the ones before, and is a whole fix-point. See docs/propagation.md.
std::vector<Round> DefaultRounds();
// What explanations call them.
std::vector<std::string> DefaultRoundNames();

// Runs `rounds` one after the other.
void OpPriorities(State& state, absl::Span<const Round> rounds);

// Runs the op priorities once for every user priority that some dim has, most urgent first. Until
// its turn a dim is closed and empty, and its axes are not used by the tensor.
void UserPriorities(State& state, absl::Span<const Round> rounds);

}  // namespace tessera::propagation::engine

// The two outer layers of propagation: op priorities and user priorities.
#pragma once
#include "propagation/fixpoint.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Returns Shardy's rounds. Each is a whole fix-point that adds to the ones before:
// 1. ops that only pass shardings on, if their operands have no other use;
// 2. all ops that only pass shardings on;
// 3. all ops, along factors that operands and results share;
// 4. all factors;
// 5. all factors, and broadcasts forward too. Before that they only carry axes backward.
// See docs/propagation.md.
std::vector<Round> DefaultRounds();
// Returns the names of these rounds in explanations.
std::vector<std::string> DefaultRoundNames();

// Runs a fix-point for the first round, then for the first two, and so on.
void RunOpPriorities(State& state, absl::Span<const Round> rounds);

// Runs the op priorities once for each user priority, most urgent first. Until its turn a dim is
// closed and empty, and the tensor may not use its axes.
void RunUserPriorities(State& state, absl::Span<const Round> rounds);

}  // namespace tessera::propagation::engine

// Runs cases in child processes, so that the crash of one is that case's outcome and no more.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "case.h"
#include "outcome.h"

namespace tessera::conformance {

using Runner = std::function<Outcome(const Case&)>;

// Returns the outcomes in order. `prepare` runs once in each child. The calling process must not
// have threads.
std::vector<Outcome> RunIsolated(const std::vector<const Case*>& cases, const Runner& run,
                                 const std::function<void()>& prepare);

}  // namespace tessera::conformance

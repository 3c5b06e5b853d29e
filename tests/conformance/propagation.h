// Cases of propagation. They run with the recorded rules, which tests only the engine. Then the
// rules of our ops are compared with the recorded ones, and propagation runs with them.
#pragma once
#include "case.h"
#include "outcome.h"
#include "rule_differences.h"

namespace tessera::conformance {

Outcome RunPropagation(const Case& c);
Outcome RunRules(const Case& c, const RuleDifferences& differences);
// With the graph that our frontend makes of the case, where all its ops have a function of ours.
Outcome RunFrontend(const Case& c);

}  // namespace tessera::conformance

// Cases that ask what propagation gives: with the rules that the table recorded, so that only the
// engine is asked; and the rules that our ops give, against those recorded, and what propagation
// gives with them.
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

// Checks that graphs are well-formed.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Throws ShardingError with the place if the graph is malformed: ids out of range, ranks that do
// not match a rule, shardings that break an invariant, groups of unequal shape, values with several
// definitions, edges without sources. Messages use `names`; null: numbers.
void Verify(const FlatGraph& graph, const Naming* names = nullptr);

}  // namespace tessera::propagation::engine

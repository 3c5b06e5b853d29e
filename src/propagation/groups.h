// Groups of values that are sharded alike, before propagation.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Merges groups that share a value, and gives all members of a group the sharding that some have.
// If members have different shardings, later users see an open constraint instead.
void JoinGroups(FlatGraph& graph, std::vector<std::string>& warnings);

}  // namespace tessera::propagation::engine

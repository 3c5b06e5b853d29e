// Groups of values that are sharded alike, before propagation.
#pragma once
#include "propagation/graph.h"

namespace tessera::propagation::engine {

// Joins groups that share a value, and gives their members the one sharding that some have. Where
// members are given different ones, later users see an open constraint instead.
void JoinGroups(FlatGraph& graph, std::vector<std::string>& warnings);

}  // namespace tessera::propagation::engine

// Why a value is sharded as it is: where each of its axes came from, and which it did not get.
#pragma once
#include <functional>
#include <string>

#include "propagation/graph.h"

namespace tessera::propagation {

// What things are called in explanations.
struct Names {
  std::function<std::string(ValueId)> value;  // "%3", "h"
  std::function<std::string(OpId)> op;        // of the caller's graph: "dot_general"
  std::function<std::string(OpId)> where;     // its line: "model.cc:12"; may be empty
  std::vector<std::string> rounds;            // of op priorities; may be shorter than they are many
};

// Returns some lines: the sharding of v; for each axis of each dim the sharding it was given with
// and the ops it travelled; and for each axis that a neighbour wanted here what kept it out and
// what would let it in. The result must have been recorded (Options::record).
std::string Explain(const Result& result, ValueId v, const Names& names);

}  // namespace tessera::propagation

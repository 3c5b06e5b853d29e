// Why a value is sharded as it is: where each of its axes came from, and which it did not get.
#pragma once
#include <memory>
#include <string>

#include "propagation/graph.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Explains values of one result, which must have been recorded (EngineOptions::record). Both must
// outlive it. Its cost is that of a pass over the graph, then of what the values asked for went
// through.
class Explainer {
 public:
  Explainer(const EngineResult& result, const Naming& names);
  ~Explainer();
  // Returns some lines: the sharding of v; for each axis of each dim the sharding it was given with
  // and the ops it travelled, the first and the last ones if they are many; and for each axis that
  // a neighbour wanted here what kept it out and what would let it in.
  std::string Of(ValueId v);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::propagation::engine

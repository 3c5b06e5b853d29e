// Explains why a value is sharded as it is: where each axis came from, and which axes
// it did not get.
#pragma once
#include <memory>
#include <string>

#include "propagation/graph.h"
#include "propagation/propagate.h"

namespace tessera::propagation::engine {

// Explains the values of one result, which must have been recorded (EngineOptions::record). Both
// arguments must outlive it. All explanations together take one pass over the graph, plus time for
// the paths of the values that are explained.
class Explainer {
 public:
  Explainer(const EngineResult& result, const Naming& names);
  ~Explainer();
  // Returns lines of text: the sharding of v; for each axis of each dim its origin and the ops that
  // carried it (only the first and last ones of a long path); for each axis that a neighbour wanted
  // here, why it was kept out and which edit would let it in.
  std::string Explain(ValueId v);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::propagation::engine

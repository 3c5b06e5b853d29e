// Edits that make a refused call legal. Each one was tried.
#pragma once
#include "ir/infer.h"
#include "sharding/explicit_rule.h"

namespace tessera::ir {

// Scope: SuggestFixes returns nothing on this thread. An edit that is being tried needs no fixes.
class WithoutFixesScope {
 public:
  WithoutFixesScope();
  ~WithoutFixesScope();
  WithoutFixesScope(const WithoutFixesScope&) = delete;

 private:
  const bool old_;
};

// Returns the edits, cheapest first.
std::vector<Fix> SuggestFixes(const InferCall& call, const sharding::DimMap& map,
                              const std::vector<ShapeAndDType>& results,
                              const sharding::Conflict& conflict);

}  // namespace tessera::ir

// Edits that make a refused op build, each tried before it is offered.
#pragma once
#include "ir/infer.h"
#include "sharding/explicit_rule.h"

namespace tessera::ir {

// Scope: SuggestFixes of this thread returns nothing. An edit that is only tried needs no fixes.
class WithoutFixesScope {
 public:
  WithoutFixesScope();
  ~WithoutFixesScope();
  WithoutFixesScope(const WithoutFixesScope&) = delete;

 private:
  const bool old_;
};

// Returns the edits, the cheapest in bytes first.
std::vector<Fix> SuggestFixes(const InferCall& call, const sharding::DimMap& map,
                              const std::vector<ShapeAndDType>& results,
                              const sharding::Conflict& conflict);

}  // namespace tessera::ir

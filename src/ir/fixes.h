// Edits that make a refused op build, each tried before it is offered.
#pragma once
#include "ir/infer.h"
#include "sharding/explicit_rule.h"

namespace tessera::ir {

// Returns the edits, the cheapest in bytes first.
std::vector<Fix> SuggestFixes(const InferCall& call, const sharding::DimMap& map,
                              const std::vector<ShapeAndDType>& results,
                              const sharding::Conflict& conflict);

}  // namespace tessera::ir

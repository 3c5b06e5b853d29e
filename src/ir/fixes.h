// Edits that make a refused op build, each tried before it is offered.
#pragma once
#include "ir/infer.h"
#include "sharding/explicit_rule.h"

namespace tessera::ir {

// Returns how operand i is called in messages: "lhs", "operand 3".
std::string OperandName(const OpDef& op, size_t i);

// Returns the edits, the cheapest in bytes first.
std::vector<Fix> SuggestFixes(const InferCall& call, const sharding::DimMap& map,
                              const std::vector<ShapeAndDType>& results,
                              const sharding::Conflict& conflict);

}  // namespace tessera::ir

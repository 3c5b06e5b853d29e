// Derivatives of users' ops: their vjp as the rule of a record.
#pragma once
#include <string>

#include "ops/custom.h"

namespace tessera::api {

// Returns the derivative that the definition gives.
ir::Diff DiffOf(const OpDefinition& definition);
// Returns how the vjp differs from differences of the kernel's results, empty if it does not; fills
// `report`. Throws TraceError for a vjp that captures arrays or returns other types.
std::string CheckVjp(ops::CustomDef& def, Loc loc);

}  // namespace tessera::api

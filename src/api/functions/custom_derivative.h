// Derivatives of users' ops, from the vjp of their definition.
#pragma once
#include <string>

#include "ops/custom.h"

namespace tessera::api {

// Returns the derivative that the definition gives.
ir::Diff DiffOf(const OpDefinition& definition);
// Compares the vjp with finite differences of the kernel's results. Returns a message if they
// differ, and appends to `def.report` if they agree. Throws TraceError for a vjp that captures
// arrays or returns wrong types.
std::string CheckVjp(ops::CustomDef& def, Loc loc);

}  // namespace tessera::api

// The CommPolicy scopes of this thread.
#pragma once
#include <string>

#include "ir/program.h"
#include "tessera/program.h"

namespace tessera::compile {

// `loc`: the line of the scope, for messages.
void PushPolicy(CommLimits limits, Loc loc);
void PopPolicy();

// Throws, or warns, if the report of the program breaks a policy in scope. Throws if a policy names
// axes that the program's mesh does not have.
void CheckPolicies(const CommReport& report, const ir::Program& program);
// Returns a string that identifies the policies in scope; empty if there are none.
const std::string& PolicyKey();

}  // namespace tessera::compile

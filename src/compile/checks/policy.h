// The CommPolicy scopes of this thread.
#pragma once
#include <string>

#include "ir/program.h"
#include "tessera/program.h"

namespace tessera::compile {

void PushPolicy(CommLimits limits);
void PopPolicy();

// Throws, or warns, if the report breaks a policy in scope; throws if a policy is about axes that
// the program's mesh, if it has one, does not have. The report is of the program.
void CheckPolicies(const CommReport& report, const ir::Program& program);
// A text that tells the policies in scope apart; empty outside of all.
const std::string& PolicyKey();

}  // namespace tessera::compile

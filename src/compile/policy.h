// The CommPolicy scopes of this thread.
#pragma once
#include <string>

#include "tessera/program.h"

namespace tessera::compile {

void PushPolicy(CommLimits limits);
void PopPolicy();

// Throws, or warns, if the report breaks a policy in scope.
void CheckPolicies(const CommReport& report);
// A text that tells the policies in scope apart; empty outside of all.
const std::string& PolicyKey();

}  // namespace tessera::compile

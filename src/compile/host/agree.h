// Comparisons between processes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.h"

namespace tessera::compile {

// All processes call it with a text of the work that they begin together. Throws the same
// RuntimeError on every process if two texts differ. It shows the first lines that differ.
void AgreeOn(const char* op, std::string_view text, Loc loc);

// Throws that error. `texts` has the text of each process; one differs from the text of process 0.
[[noreturn]] void FailDifferent(const char* op, const std::vector<std::string>& texts, Loc loc);

// All processes call it. A process that failed gives its reason, others give "". Returns the reason
// of the first process that failed, with its number, on every process; "" if none did.
std::string FirstProblem(std::string_view problem);

}  // namespace tessera::compile

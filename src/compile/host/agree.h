// Work of several processes that may fail on some of them.
#pragma once
#include <string>
#include <string_view>

namespace tessera::compile {

// All processes call it. A process that failed gives its reason, others give "". Returns the reason
// of the first process that failed, with its number, on every process; "" if none did.
std::string FirstProblem(std::string_view problem);

}  // namespace tessera::compile

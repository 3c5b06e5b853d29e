// Calls of programs that were parsed, imported or saved.
#pragma once
#include <vector>

#include "api/core/operands.h"
#include "tessera/program.h"
#include "trace/inline.h"

namespace tessera::api {

// Throws RuntimeError for a device program, and for one without the arrays that it captures.
void CheckRuns(const ir::Program& program, Call call);
// Returns the results of a program that runs. Lays out the arguments as its inputs are; throws
// ShapeError if they do not match.
std::vector<Array> CallOf(const Program& program, std::vector<Array> arguments,
                          trace::KeptCompilation& kept, Call call);

}  // namespace tessera::api

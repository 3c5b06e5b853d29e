// Programs as functions of arrays.
#pragma once
#include "trace/array.h"

namespace tessera::trace {

// Whether a call on these arrays is traced.
bool InsideTrace(const std::vector<ArrayRef>& arrays);

// Returns the results of the program on these arrays: its instructions recorded in the current
// trace, or run as one program. Captures come from the program.
std::vector<Array> CallProgram(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<ArrayRef>& inputs, Loc loc);

}  // namespace tessera::trace

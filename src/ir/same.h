// Equality of programs.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Whether the programs are equal, except for lines, names and the arrays that they capture.
bool SameProgram(const Program& a, const Program& b);
// Whether equal programs come from the same lines.
bool SameLines(const Program& a, const Program& b);
// Returns a hash that is equal for equal programs.
size_t HashOf(const Program& program);

}  // namespace tessera::ir

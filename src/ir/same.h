// Whether two programs compute the same.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Whether the programs are equal, but for lines, names, and which arrays they capture.
bool SameProgram(const Program& a, const Program& b);
// Whether programs that are the same come from the same lines.
bool SameLines(const Program& a, const Program& b);
// Returns a hash that is equal for programs that are the same.
size_t HashOf(const Program& program);

}  // namespace tessera::ir

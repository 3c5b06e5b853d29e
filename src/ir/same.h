// Whether two programs compute the same.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Whether the programs are equal, but for lines, names, and which arrays they capture.
bool SameProgram(const Program& a, const Program& b);

}  // namespace tessera::ir

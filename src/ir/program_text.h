// The text form of programs.
#pragma once
#include <string>
#include <string_view>

#include "ir/program.h"

namespace tessera::ir {

// Returns the text of a program. It is deterministic, and parses back to an equal program. Values
// are numbered in order of definition. Instructions end in `// file:line`, the scope in brackets,
// and the names of their results, which are parsed back.
std::string Text(const Program& program);
// Parses a program. Throws RuntimeError with the position, also for types that the ops do not give
// (Verify). `loc` may be a file (line 0): its lines are then those of instructions whose comments
// name none.
Program ParseProgram(std::string_view text, Loc loc);

}  // namespace tessera::ir

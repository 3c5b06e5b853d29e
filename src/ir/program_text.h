// Programs as text.
#pragma once
#include <string>
#include <string_view>

#include "ir/program.h"

namespace tessera::ir {

// Text: deterministic, and parsed back to an equal program. Values are numbered in order of
// definition. Instructions end in `// file:line` and the names of their values, which are read
// back.
std::string Text(const Program& program);
// Throws RuntimeError with the place; `loc` may be a file (line 0), whose lines are then those of
// the instructions that name none. Types that the ops do not give are refused (Verify).
Program ParseProgram(std::string_view text, Loc loc);

}  // namespace tessera::ir

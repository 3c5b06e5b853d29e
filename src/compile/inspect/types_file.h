// TESSERA_TYPES=out.json: the types of traced values by the lines of the user's program.
#pragma once
#include "ir/program.h"

namespace tessera::compile {

// Adds the values of a program that is lowered to the file that TESSERA_TYPES names, which is
// written when the process ends. Its JSON is an object: `version`, `truncated` and `values`, a list
// of {file, line, op, type, backward, result}. Equal entries are there once, in the order in which
// programs were lowered; `result` marks the last value of its line in a program. At most kMostTypes
// entries are kept, and `truncated` is true if there were more. Does nothing without the variable.
void AddTypes(const ir::Program& program);
inline constexpr size_t kMostTypes = 100'000;

}  // namespace tessera::compile

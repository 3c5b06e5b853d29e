// Which values of a program are zero, whatever its inputs are.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

// Returns, per value, whether the program's text says that it is zero: a constant, and what ops
// make of zeros that are all they are linear in.
std::vector<bool> ZerosOf(const ir::Program& program);

}  // namespace tessera::transforms

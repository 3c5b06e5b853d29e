// What a program need not compute.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Removes instructions that repeat an earlier one, with the same operands, params and types (but
// for those with regions, and opaque ones), and what no output needs. Values keep their ids.
void Simplify(Program& program);

}  // namespace tessera::ir

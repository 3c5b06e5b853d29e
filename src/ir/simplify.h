// What a program need not compute.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Returns the value of which an instruction takes each element, if it takes each from one of its
// operands, and those are all that value; else -1.
ValueId OnlyChoice(const Program& program, const Instruction& i);

// Removes instructions that repeat an earlier one, with the same operands, params and types (but
// for those with regions, and opaque ones), choices between a value and itself, and what no output
// needs. Values keep their ids.
void Simplify(Program& program);

}  // namespace tessera::ir

// Simplification of programs.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// For an instruction that takes each element from one of several operands (select_n): returns the
// value if all of these are the same value, else kNoValue.
ValueId OnlyChoice(const Program& program, const Instruction& i);

// Removes instructions that repeat an earlier one with the same operands, params and types, selects
// between a value and itself, and instructions that no output needs. Opaque instructions and
// effects are not merged. Values keep their ids.
void Simplify(Program& program);

}  // namespace tessera::ir

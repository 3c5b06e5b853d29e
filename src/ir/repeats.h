// What a program computes more than once.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Replaces instructions that repeat an earlier one, with the same operands, params and types, by
// it. Those with regions, and opaque ones, stay. What nobody uses any more stays, too: see
// RemoveDead.
void RemoveRepeats(Program& program);

}  // namespace tessera::ir

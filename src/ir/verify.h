// The invariants of every program.
#pragma once
#include <string_view>

#include "ir/program.h"

namespace tessera::ir {

// Throws an error if a value is used before it is defined, if an instruction's result types are not
// types that its op accepts for its operands, or if a place does not fit its value. In a device
// program the types are not checked: only the order, and that ops with a dimension map have no
// regions.
void Verify(const Program& program);

// Whether programs are verified after each pass and transform: in debug builds, and with
// TESSERA_VERIFY=1 in the environment, as in tests.
bool VerifiesPrograms();

// Verifies a program that a pass or transform returns, if VerifiesPrograms. Throws InternalError,
// which names the pass.
void VerifyAfter(std::string_view pass, const Program& program);

}  // namespace tessera::ir

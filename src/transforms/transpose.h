// Reverse mode of a linear program.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

// Throws an error for an instruction that depends on linear inputs and is not linear in them.
using FailNotLinear = void (*)(const ir::Instruction& instruction);
// Throws custom_jvp.C23. The derivatives of ops are linear, so an instruction that is not linear
// comes from a user's rule.
[[noreturn]] void FailRule(const ir::Instruction& instruction);

// Transposes a program that is linear in its inputs after the first `residuals`.
//   from: (residuals, linear inputs) -> outputs
//   to:   (residuals, cotangents of outputs) -> cotangents of linear inputs
// A cotangent has the CotangentType of its value. The result may hold repeated and dead
// instructions. Throws TraceError for a while_loop that depends on linear inputs, and for
// instructions that are not linear.
ir::Program MakeTranspose(const ir::Program& program, size_t residuals,
                          FailNotLinear fail = FailRule);

}  // namespace tessera::transforms

// Reverse mode of a linear program.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

// Throws the error that an instruction on the way is not linear.
using FailNotLinear = void (*)(const ir::Instruction& instruction);
// C23 of custom_jvp: derivatives that ops give are linear; what is not is of a rule of the user's.
[[noreturn]] void FailRule(const ir::Instruction& instruction);

// Of a program that is linear in its inputs from `residuals` on, with the first ones given: returns
// the program from the residuals and the cotangents of the outputs to the cotangents of the other
// inputs. A cotangent has the CotangentType of its value. Some of it may repeat, or be dead. Throws
// TraceError for a while_loop on the way, and for what is not linear.
ir::Program MakeTranspose(const ir::Program& program, size_t residuals,
                          FailNotLinear fail = FailRule);

}  // namespace tessera::transforms

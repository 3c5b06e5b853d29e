// Reverse mode of a linear program.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

// Of a program that is linear in its inputs from `residuals` on, with the first ones given: returns
// the program from the residuals and the cotangents of the outputs to the cotangents of the other
// inputs. A cotangent has the CotangentType of its value. Some of it may repeat, or be dead. Throws
// TraceError for a while_loop on the way, and for what is not linear.
ir::Program MakeTranspose(const ir::Program& program, size_t residuals);

}  // namespace tessera::transforms

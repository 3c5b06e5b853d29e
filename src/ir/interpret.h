// Runs programs on whole tensors.
#pragma once
#include <vector>

#include "ir/program.h"

namespace tessera::ir {

// Returns the outputs of the program, computed with the reference functions. `inputs` are the
// program's inputs, then its captures.
std::vector<HostTensor> Interpret(const Program& program, std::vector<HostTensor> inputs);

}  // namespace tessera::ir

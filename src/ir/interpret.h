// Programs computed on whole tensors.
#pragma once
#include <vector>

#include "ir/program.h"

namespace tessera::ir {

// Returns the outputs of the program on whole tensors, computed with the reference functions.
// `inputs` are those of the program, then its captures.
std::vector<HostTensor> Interpret(const Program& program, std::vector<HostTensor> inputs);

}  // namespace tessera::ir

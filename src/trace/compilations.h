// Compiled programs. Some are cached beyond the life of their function.
#pragma once
#include <memory>
#include <vector>

#include "trace/array.h"

namespace tessera::trace {

// Compiles the program for inputs and captures like these arrays. `donated`: per input.
Executor::Compiled CompileFor(std::shared_ptr<const ir::Program> program, std::vector<bool> donated,
                              const std::vector<ArrayRef>& inputs);
// Compiles a program that is traced at each call, by a function that captures something. Returns
// the earlier result if an equal program was compiled before, whatever it captured.
Executor::Compiled CompileOnce(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<bool>& donated,
                               const std::vector<ArrayRef>& inputs);

}  // namespace tessera::trace

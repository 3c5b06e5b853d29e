// Programs made ready to run, and those that are kept when what they were made for is gone.
#pragma once
#include <memory>
#include <vector>

#include "trace/array.h"

namespace tessera::trace {

// Returns the program compiled for inputs and captures such as these arrays. `donated`: per input.
Executor::Compiled CompileFor(std::shared_ptr<const ir::Program> program, std::vector<bool> donated,
                              const std::vector<ArrayRef>& inputs);
// The same of a program that is traced at each call, by a function that captures something: if the
// same was compiled before, whatever it captured, that.
Executor::Compiled CompileOnce(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<bool>& donated,
                               const std::vector<ArrayRef>& inputs);

}  // namespace tessera::trace

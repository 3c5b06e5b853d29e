// A line whose values the backward pass computes again.
#pragma once
#include <memory>
#include <string>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program whose backward pass computes the values of a line again, also in regions. It
// reads the operands of the line, as after checkpoint. Null if the pass reads no value of the line.
std::shared_ptr<const ir::Program> WithLineAgain(const ir::Program& program,
                                                 const std::string& line);

}  // namespace tessera::compile

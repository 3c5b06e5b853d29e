// Loops whose iterations the backward pass computes again.
#pragma once
#include <memory>
#include <string>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program whose loops at a line keep the carries that each iteration begins with, and
// whose backward loops compute the other values of the iteration again. Null if there is no loop
// with a backward loop at the line.
std::shared_ptr<const ir::Program> WithLoopAgain(const ir::Program& program,
                                                 const std::string& line);

}  // namespace tessera::compile

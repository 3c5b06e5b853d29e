// Dumps of shardings: a line per value of a program, which PinShardings reads back.
#pragma once
#include <string>

#include "ir/program.h"

namespace tessera::compile {

// Returns the lines `%3 dot_general f32[8,64] : <@mesh, [{"x"}, {}]>` of the program, propagated.
std::string Dump(const ir::Program& program);

}  // namespace tessera::compile

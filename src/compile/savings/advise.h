// Finds the changes that lower the peak of a program most.
#pragma once
#include "ir/program.h"
#include "tessera/memory_advice.h"

namespace tessera::compile {

// Returns at most three changes, of different arguments and lines.
MemoryAdvice AdviseMemory(const ir::Program& program, const ProgramBorder& border);

}  // namespace tessera::compile

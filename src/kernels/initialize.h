// One-time initialisation of the kernels, at the start of the process.
#pragma once
#include <string>

#include "kernels/kernel.h"

namespace tessera::kernels {

// Chooses kernels for the CPU, including OpenBLAS's core type. Called once; thread-safe.
void Initialize();

// Returns the instruction set of the kernels, e.g. "AVX3". Results of other sets differ in their
// last bits.
std::string InstructionSet();

}  // namespace tessera::kernels

// One-time initialisation of the kernels, at the start of the process.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Chooses kernels for the CPU, including OpenBLAS's core type. Called once; thread-safe.
void Initialize();

}  // namespace tessera::kernels

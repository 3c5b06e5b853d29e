// What the kernels do once at the start of the process.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Starts choosing kernels for the CPU (OpenBLAS's core type included). Called once, thread-safe.
void Initialize();

}  // namespace tessera::kernels

// JAX's times, measured in turn with ours in the same run.
#pragma once
#include <string>

#include "benchmarks/measure.h"

namespace tessera::bench {

// Runs jax/SCRIPT with these arguments and keeps the figures that it prints. Does nothing unless
// TESSERA_JAX_PYTHON names a Python that has JAX.
void RunJax(Recorder& recorder, const std::string& script, const std::string& arguments);

}  // namespace tessera::bench

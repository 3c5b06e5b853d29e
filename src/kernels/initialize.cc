// One-time initialisation: chooses the SIMD functions and loads OpenBLAS.
#include "kernels/initialize.h"

#include <hwy/targets.h>

#include "kernels/fused/kernel_table.h"
#include "kernels/gemm/gemm_blas.h"

namespace tessera::kernels {

void Initialize() {
  Kernels();
  LoadBlas();
}

std::string InstructionSet() {
  const int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets & -targets);  // the best one is the lowest bit
}

}  // namespace tessera::kernels

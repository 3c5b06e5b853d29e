// One-time initialisation: chooses the SIMD functions and loads OpenBLAS.
#include "kernels/initialize.h"

#include "kernels/fused/kernel_table.h"
#include "kernels/gemm/gemm_blas.h"

namespace tessera::kernels {

void Initialize() {
  Kernels();
  LoadBlas();
}

}  // namespace tessera::kernels

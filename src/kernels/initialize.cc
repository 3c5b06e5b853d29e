// What the kernels do once at the start of the process: choose their SIMD functions and load
// OpenBLAS.
#include "kernels/initialize.h"

#include "kernels/fused/kernel_table.h"
#include "kernels/gemm/gemm_blas.h"

namespace tessera::kernels {

void Initialize() {
  Kernels();
  LoadBlas();
}

}  // namespace tessera::kernels

#include "kernels/fused/fused_program.h"
#include "kernels/gemm/gemm.h"
#include "kernels/kernels.h"

namespace tessera::kernels {

void Initialize() {
  Kernels();
  LoadBlas();
}

}  // namespace tessera::kernels

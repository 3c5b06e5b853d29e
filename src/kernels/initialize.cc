#include "kernels/fused_program.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"

namespace tessera::kernels {

void Initialize() {
  Kernels();
  LoadBlas();
}

}  // namespace tessera::kernels

// Builds the kernel table from its parts.
#include "kernels/fused/kernel_table.h"

namespace tessera::kernels {

const KernelTable& Kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    AddMoves(t);
    AddStored(t);
    AddParts(t);
    AddNarrowOps(t);
    AddWideOps(t);
    AddDivision(t);
    AddFloat32Math(t);
    AddFloat64Math(t);
    AddRandom(t);
    AddStepPairs(t);
    return t;
  }();
  return table;
}

}  // namespace tessera::kernels

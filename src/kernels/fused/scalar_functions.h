// Functions of elements as blocks of a register-threaded program.
#pragma once
#include "kernels/fused/fused_program.h"

namespace tessera::kernels {

// acc = op(acc, a). Null if op has none for the lane: it is computed by vectors, or not of such
// numbers.
BlockFn ScalarBlock(Lane lane, plan::ScalarOp op);
// nextafter steps in the dtype's own numbers, whatever it is held as.
BlockFn NextafterBlock(DType dtype);

}  // namespace tessera::kernels

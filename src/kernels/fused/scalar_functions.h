// Functions of elements as blocks of a register-threaded program.
#pragma once
#include "kernels/fused/fused_program.h"

namespace tessera::kernels {

// acc = op(acc, a). Null if the op is a vector kernel in this lane, or does not exist for
// its numbers.
BlockFn ScalarBlock(Lane lane, plan::ScalarOp op);
// nextafter steps through the numbers of the dtype, not those of the lane.
BlockFn NextafterBlock(DType dtype);

}  // namespace tessera::kernels

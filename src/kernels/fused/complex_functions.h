// Functions of complex numbers as blocks of a register-threaded program.
#pragma once
#include "kernels/fused/fused_program.h"

namespace tessera::kernels {

// Blocks that compute the real [0] and the imaginary [1] part of a result; functions with real
// results have only the first. acc is the real part of the first operand, `a` its imaginary part,
// and `b` and `c` are the parts of the second operand. If `info` is not 0, the other part of the
// result is stored at this offset in scratch.
struct ComplexFunction {
  BlockFn block[2] = {nullptr, nullptr};
};

// Returns the blocks for a complex dtype; null if there are none.
ComplexFunction ComplexFunctionOf(DType dtype, plan::ScalarOp op);

}  // namespace tessera::kernels

// Tridiagonal systems.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// in[0], in[1], in[2] [..., n]: the diagonals of matrices below, on and above the main one; in[3] b
// [..., n, k] -> x with matrix x = b, in f32, f64, c64 or c128. Uses partial pivoting; a singular
// matrix gives NaN. The first element of in[0] and the last of in[2] are not read.
plan::Kernel TridiagonalSolve(DType dtype, const Shape& b);

}  // namespace tessera::kernels

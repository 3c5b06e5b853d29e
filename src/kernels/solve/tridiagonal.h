// Tridiagonal systems.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// in[0], in[1], in[2] [..., n]: the diagonals below, on and above the main one of matrices; in[3] b
// [..., n, k] -> x with matrix x = b, f32 or f64. Partial pivoting; NaN where a matrix is singular.
// in[0] of a first row and in[2] of a last one are not read.
plan::Kernel TridiagonalSolve(DType dtype, const Shape& b);

}  // namespace tessera::kernels

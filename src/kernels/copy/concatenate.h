// Operands joined along a dim, or a dim turned round.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// in[k] with shapes[k] joined along `dim`.
plan::Kernel Concatenate(int32_t itemsize, const std::vector<Shape>& shapes, int64_t dim);

// Moves the elements of a dim on by `shift`, 0 <= shift < its size; the last ones to its front.
plan::Kernel Roll(int32_t itemsize, const Shape& shape, int64_t dim, int64_t shift);

}  // namespace tessera::kernels

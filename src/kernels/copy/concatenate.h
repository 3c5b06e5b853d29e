// Kernels that join operands along a dim or roll a dim.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Joins the operands in[k] of shapes[k] along `dim`.
plan::Kernel Concatenate(int32_t itemsize, const std::vector<Shape>& shapes, int64_t dim);

// Moves the elements of a dim by `shift` towards its end, 0 <= shift < its size; the last ones wrap
// to the front.
plan::Kernel Roll(int32_t itemsize, const Shape& shape, int64_t dim, int64_t shift);

}  // namespace tessera::kernels

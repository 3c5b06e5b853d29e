// Assembles an array from boxes of several operands.
#pragma once
#include "kernels/kernel.h"
#include "plan/fused.h"

namespace tessera::kernels {

// Returns a kernel that writes a dense array of the shape: box b gets its elements from
// in[b.operand]. The boxes cover the array and do not overlap. The stride of the last dim is 1, or
// all strides are 0.
plan::Kernel CopyBoxes(int32_t itemsize, const Shape& shape,
                       const std::vector<plan::FusedDesc::Part>& boxes);

}  // namespace tessera::kernels

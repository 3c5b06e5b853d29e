// The conventions of all kernel factories. A factory returns a plan::Kernel for fixed local shapes.
// All buffers are dense and row-major, and sizes are in elements unless a name says bytes. A
// factory never fails on valid shapes, and sizes of 0 are valid. Kernels are deterministic: their
// bits do not depend on `parts`.
#pragma once
#include <cstdint>
#include <vector>

#include "base/shape.h"
#include "plan/plan.h"
#include "tessera/dtype.h"
#include "tessera/reduction.h"

namespace tessera::kernels {

using base::Shape;

}  // namespace tessera::kernels

// What combines the pieces of an exchange.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// What combines the pieces of an exchange. f16 and bf16 are combined in f32 and rounded once;
// integers wrap; kMax and kMin propagate NaN and order -0 below +0; bool has kSum and kMax = or,
// kProd and kMin = and. The result may be the first source's buffer. Null where the dtype does not
// have the reduction (kAnd and kOr of floats).
plan::CombineFn Combiner(DType dtype, Reduction reduction);

}  // namespace tessera::kernels

// The functions that combine the pieces of an exchange.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// Returns the function that combines the pieces of an exchange. f16 and bf16 are combined in f32
// and rounded once. Integers wrap. kMax and kMin propagate NaN and order -0 below +0. For bool kSum
// and kMax are or, kProd and kMin are and. The result may be the first source's buffer. Null if the
// dtype does not have the reduction (kAnd and kOr of floats).
plan::CombineFn Combiner(DType dtype, Reduction reduction);

}  // namespace tessera::kernels

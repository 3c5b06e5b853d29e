// Slices at places that index vectors say.
#pragma once
#include "kernels/index/lookup.h"

namespace tessera::kernels {

// in[0] [operand], in[1] [queries..., entries] -> slices. What other devices hold gives 0 (of
// floats -0), so that the sum over devices is the answer. Slices outside give `fill`, the bits of
// an element, on devices that lead and 0 elsewhere.
plan::Kernel Gather(const LookupDesc& desc, uint64_t fill);

}  // namespace tessera::kernels

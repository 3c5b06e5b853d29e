// Slices at positions given by index vectors.
#pragma once
#include "base/element_bits.h"
#include "kernels/index/lookup.h"

namespace tessera::kernels {

// in[0] [operand], in[1] [queries..., entries] -> slices. Slices that other devices hold give 0 (-0
// for floats), so the sum over devices is the result. Slices outside of the array give `fill`, the
// bits of an element, on devices that lead and 0 on the others.
plan::Kernel Gather(const LookupDesc& desc, const base::ElementBits& fill);

}  // namespace tessera::kernels

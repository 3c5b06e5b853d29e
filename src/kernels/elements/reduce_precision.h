// Rounding to floating formats of fewer bits.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// in[0] -> out[0], n floats: rounds to a format of this many exponent and mantissa bits, ties to
// even. Numbers above its largest become infinite, those below its smallest normal one 0 with their
// sign. Bits that the dtype lacks change nothing.
plan::Kernel ReducePrecision(DType dtype, int64_t n, int64_t exponent_bits, int64_t mantissa_bits);

}  // namespace tessera::kernels

// Convolutions as matrix products of copied elements.
#pragma once
#include "kernels/convolution/convolution.h"

namespace tessera::kernels {

// Takes every convolution of floats or integers.
plan::Kernel ConvolutionByColumns(const ConvolutionDesc& desc);

}  // namespace tessera::kernels

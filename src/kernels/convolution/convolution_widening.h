// Convolutions of narrow floats, in f32.
#pragma once
#include <optional>

#include "kernels/convolution/convolution.h"

namespace tessera::kernels {

// Returns a convolution of f16, or of bf16 for which the CPU has no function, by way of f32.
// Nothing if oneDNN has no fast function.
std::optional<plan::Kernel> ConvolutionByWidening(const ConvolutionDesc& desc);

}  // namespace tessera::kernels

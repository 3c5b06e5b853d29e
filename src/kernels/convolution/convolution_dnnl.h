// Convolutions by oneDNN.
#pragma once
#include <optional>

#include "kernels/convolution/convolution.h"

namespace tessera::kernels {

// How the result is cut for workers: part p of n has the shares (parts.h) of the units, which are
// `unit` indices of one of its dims.
struct ConvolutionCut {
  int64_t size = 1, unit = 1, units = 1;  // of the dim
  int64_t out_stride = 0;
};
struct DnnlConvolution {
  plan::Kernel kernel;
  ConvolutionCut cut;
};
// Takes f32 and bf16. Returns nothing if oneDNN has no fast function for the convolution.
std::optional<DnnlConvolution> ConvolutionByDnnl(const ConvolutionDesc& desc);

}  // namespace tessera::kernels

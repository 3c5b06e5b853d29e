// A convolution in the terms of oneDNN, whose three functions are a convolution and its gradients.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "kernels/convolution/convolution.h"

namespace tessera::kernels {

// The function of oneDNN that computes a convolution.
enum class DnnlForm : uint8_t {
  kForward,
  // The gradient of the input, which dilates lhs (the gradient of the output) by oneDNN's stride.
  kData,
  // The gradient of the weights. Its batch are our in features, its in features are our batch, its
  // stride is our window dilation, and its kernel is our result.
  kWeights
};

struct DnnlProblem {
  DnnlForm form = DnnlForm::kForward;
  dnnl::memory::desc lhs, rhs, out;  // with our strides
  dnnl::memory::dims strides, dilations, left, right;
  int64_t lhs_offset = 0;  // in elements: negative padding leaves out elements
  bool flips = false;      // whether rhs must be reversed along all spatial dims
};

DnnlForm DnnlFormOf(const ConvolutionDesc& desc);

// Returns nothing if oneDNN's terms cannot state the convolution.
std::optional<DnnlProblem> StateForDnnl(const ConvolutionDesc& desc, DnnlForm form);

}  // namespace tessera::kernels

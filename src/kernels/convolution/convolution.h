// Convolutions of any layout.
#pragma once
#include <vector>

#include "kernels/kernel.h"
#include "kernels/window/window.h"

namespace tessera::kernels {

// One spatial dim. The window moves over lhs, and has rhs's size.
struct ConvolutionDim {
  WindowDim window;
  int64_t lhs_size = 1, out_size = 1;
  bool reverse = false;  // whether element w of the window is rhs's element size - 1 - w
  int64_t lhs_stride = 0, rhs_stride = 0, out_stride = 0;
};

// The strides of lhs or of the result, and those of rhs.
struct ImageStrides {
  int64_t batch = 0, group = 0, feature = 0;
};
struct FilterStrides {
  int64_t group = 0, in = 0, out = 0;
};

// Each buffer is dense, and its dims are in any order: strides are in elements, and a dim of the
// buffer may hold two of these dims. Features are counted per group.
struct ConvolutionDesc {
  DType lhs_dtype, rhs_dtype, out_dtype;
  int64_t batch = 1, groups = 1, in_features = 1, out_features = 1;
  ImageStrides lhs, out;
  FilterStrides rhs;
  std::vector<ConvolutionDim> dims;
};

// in[0] lhs, in[1] rhs -> out[0]: result[b, g, k, o] is the sum over features c and elements w of
// the window of lhs[b, g, c, o's element w] * rhs[g, c, k, w]; padding is 0. Floats accumulate in
// f32 or wider; integers wrap in the dtype of the result. bool is not allowed.
plan::Kernel Convolution(const ConvolutionDesc& desc);

}  // namespace tessera::kernels

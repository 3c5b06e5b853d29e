// The convolutions of ResNet-50, one of each size: NHWC in f32, padded by "SAME".
#pragma once
#include <array>
#include <cstdint>

namespace tessera::bench {

inline constexpr int64_t kImages = 8;

struct ConvolutionSize {
  const char* name;
  int64_t side, in, out, kernel, stride;  // features `in` and `out`

  int64_t out_side() const { return (side + stride - 1) / stride; }
  // Returns the FLOPs of the convolution, and of each of its two gradients.
  double flops() const {
    return 2.0 *
           static_cast<double>(kImages * out_side() * out_side() * in * out * kernel * kernel);
  }
};
inline constexpr std::array kConvolutions = {
    ConvolutionSize{"7x7_224", 224, 3, 64, 7, 2}, ConvolutionSize{"3x3_56", 56, 64, 64, 3, 1},
    ConvolutionSize{"3x3_28", 28, 128, 128, 3, 1}, ConvolutionSize{"3x3_14", 14, 256, 256, 3, 1},
    ConvolutionSize{"3x3_7", 7, 512, 512, 3, 1}};

// The rows of a size: the convolution, and the gradients of its images and of its kernel.
inline constexpr std::array kConvolutionParts = {"conv", "conv_data", "conv_weights"};

}  // namespace tessera::bench

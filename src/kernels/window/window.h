// Kernels over the windows of an array.
#pragma once
#include <vector>

#include "kernels/kernel.h"

namespace tessera::kernels {

// The windows along one dim. Element w of window o is at position o * stride - low + w *
// window_dilation of the operand, whose element i is at position i * base_dilation. Positions
// without an element are padding. `low` may be negative.
struct WindowDim {
  int64_t size = 1, stride = 1, low = 0;
  int64_t base_dilation = 1, window_dilation = 1;
};

// The result has one element per window. There is a WindowDim per dim.
struct WindowsDesc {
  DType dtype;
  Shape operand, result;
  std::vector<WindowDim> dims;
};

// in[0] [operand] -> out[0] [result]: reduces each window. Padding is the identity. f16 and bf16
// accumulate in f32 and are rounded once. Integers wrap. kMax and kMin propagate NaN. For bool kSum
// and kMax are or, kProd and kMin are and.
plan::Kernel ReduceWindow(const WindowsDesc& desc, Reduction reduction);

// An element of each window is chosen from an array of the operand's shape: the first largest
// (kMax) or smallest (kMin) one. As in XLA, the choice moves on from an element that is not >= (<=)
// the next one, so a NaN is chosen if it is the last element of the window, and else the choice
// begins again after it. Padding is never chosen.
//
// in[0] [operand] to choose from, in[1] [operand] -> out[0] [result]: the element of in[1] at the
// chosen position, or 0 if the window is all padding.
plan::Kernel WindowTake(const WindowsDesc& desc, Reduction reduction);
// in[0] [operand] to choose from, in[1] [result] -> out[0] [operand]: zeros, to which the element
// of each window is added at its chosen position. f16 and bf16 are added in f32.
plan::Kernel WindowPut(const WindowsDesc& desc, Reduction reduction);

}  // namespace tessera::kernels

// Windows that start at indices known only at run time.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// A window of an array. A device holds the part [shape] of the array. The starts are known at run
// time, and are clamped so that the window is inside the whole array. (The op has already wrapped
// negative starts.)
struct WindowDesc {
  int32_t itemsize;
  DType index;         // dtype of the scalar starts, one per dim
  Shape shape, sizes;  // of the held part; of the window
  // per dim: the largest start that keeps the window inside the whole array
  std::vector<int64_t> last;
  std::vector<std::vector<int64_t>> begins;  // per dim and device: begin of the held part; empty: 0
};

// in[0] [shape], in[1..] starts -> [sizes]. Elements that the device does not hold are zero.
plan::Kernel DynamicSlice(const WindowDesc& window);

// in[0] [shape], in[1] [sizes], in[2..] starts -> in[0] with the window replaced by in[1], as far
// as the device holds it.
plan::Kernel DynamicUpdateSlice(const WindowDesc& window);

}  // namespace tessera::kernels

// Windows whose start is known at run time.
#pragma once
#include "kernels/kernel.h"

namespace tessera::kernels {

// A window on what is held of an array [shape], whose start is known at run time. Starts are
// clamped so that it lies inside of the whole array. (Negative ones have been wrapped by the op.)
struct WindowDesc {
  int32_t itemsize;
  DType index;                               // of the scalar starts, one per dim
  Shape shape, sizes;                        // what is held, and the window
  std::vector<int64_t> last;                 // per dim: the last start inside of the whole
  std::vector<std::vector<int64_t>> begins;  // per dim and device: of what is held; empty: at 0
};

// in[0] [shape], in[1..] starts -> [sizes]; what the device does not hold of it is zero.
plan::Kernel DynamicSlice(const WindowDesc& window);

// in[0] [shape], in[1] [sizes], in[2..] starts -> in[0] with that part of the window replaced by
// in[1] which the device holds.
plan::Kernel DynamicUpdateSlice(const WindowDesc& window);

}  // namespace tessera::kernels

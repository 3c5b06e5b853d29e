// Windows that move over the dims of an array, for reduce_window and convolutions.
#pragma once
#include <vector>

#include "kernels/window/window.h"
#include "ops/check.h"
#include "ops/params.h"

namespace tessera::ops {

// The windows along one dim.
struct DimWindow {
  int64_t size = 1, stride = 1, low = 0, high = 0, base_dilation = 1, window_dilation = 1;

  // Whether window i holds element i, and no other.
  bool is_trivial() const {
    return size == 1 && stride == 1 && low == 0 && high == 0 && base_dilation == 1;
  }
  // Whether each of `n` elements is in one of the windows, and in no other.
  bool is_tile(int64_t n, int64_t windows) const {
    return stride == size && low == 0 && base_dilation == 1 && window_dilation == 1 &&
           n == windows * size;
  }
  // Returns the number of positions that a window covers, and that `n` elements cover.
  int64_t reach() const { return size == 0 ? 0 : (size - 1) * window_dilation + 1; }
  int64_t spread(int64_t n) const { return n == 0 ? 0 : (n - 1) * base_dilation + 1; }
  // Returns the elements that the windows read.
  sharding::Access access(int32_t operand, int32_t factor) const {
    return {.operand = operand,
            .factor = factor,
            .offset = -low,
            .stride = stride,
            .dilation = base_dilation,
            .window = size,
            .window_dilation = window_dilation};
  }
  // Returns the windows of a view (sharding::WindowView).
  DimWindow of_view() const {
    return {.size = size, .stride = stride, .window_dilation = window_dilation};
  }
  // Returns the windows over the results along which element i of the operand is read: the
  // transpose. There are `n` elements and `results` windows.
  DimWindow back(int64_t n, int64_t results) const {
    const int64_t before = reach() - low - 1,
                  covered = results == 0 ? 0 : (results - 1) * stride + 1;
    return {.size = size,
            .stride = base_dilation,
            .low = before,
            .high = spread(n) + reach() - 1 - covered - before,
            .base_dilation = stride,
            .window_dilation = window_dilation};
  }
  kernels::WindowDim kernel() const {
    return {.size = size,
            .stride = stride,
            .low = low,
            .base_dilation = base_dilation,
            .window_dilation = window_dilation};
  }
};

// Returns the params of reduce_window, with one window per dim.
ir::ParamsPtr ParamsOf(const std::vector<DimWindow>& windows);

// C18: strides and dilations must be positive, and sizes at least `least`. C19: positions must fit
// into 59 bits. Returns the number of windows along dim `d`, which has `n` elements.
int64_t CheckedWindows(const TypeCall& c, size_t d, int64_t n, const DimWindow& w, int64_t least);

}  // namespace tessera::ops

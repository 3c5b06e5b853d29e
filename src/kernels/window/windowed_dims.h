// The dims of an array under windows: those without windows before and after are joined.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/window/window.h"

namespace tessera::kernels {

struct WindowedDim {
  int64_t operand = 1, result = 1;  // sizes
  WindowDim window;
  bool IsWhole() const {
    return window.size == 1 && window.stride == 1 && window.low == 0 && window.base_dilation == 1 &&
           operand == result;
  }
  // Returns the index of the operand's element w of window o, or -1 if it is padding.
  int64_t Index(int64_t o, int64_t w) const {
    const int64_t at = o * window.stride - window.low + w * window.window_dilation;
    if (at < 0 || at % window.base_dilation != 0) return -1;
    return at / window.base_dilation < operand ? at / window.base_dilation : -1;
  }
};

// operand: [batch, dims..., inner]; result: [batch, dims..., inner].
struct WindowedDims {
  int64_t batch = 1, inner = 1;
  std::vector<WindowedDim> dims;  // one or more

  explicit WindowedDims(const WindowsDesc& desc) {
    for (size_t d = 0; d < desc.dims.size(); ++d)
      dims.push_back({desc.operand[d], desc.result[d], desc.dims[d]});
    while (!dims.empty() && dims.back().IsWhole()) {
      inner *= dims.back().operand;
      dims.pop_back();
    }
    size_t whole = 0;
    for (; whole < dims.size() && dims[whole].IsWhole(); ++whole) batch *= dims[whole].operand;
    dims.erase(dims.begin(), dims.begin() + static_cast<int64_t>(whole));
    if (dims.empty()) dims.push_back({});
  }
  int64_t Operands() const { return Count(&WindowedDim::operand); }  // elements per batch index
  int64_t Results() const { return Count(&WindowedDim::result); }
  // Returns the elements of a window.
  int64_t WindowSize() const {
    int64_t n = 1;
    for (const WindowedDim& d : dims) n *= d.window.size;
    return n;
  }

 private:
  int64_t Count(int64_t WindowedDim::*size) const {
    int64_t n = inner;
    for (const WindowedDim& d : dims) n *= d.*size;
    return n;
  }
};

}  // namespace tessera::kernels

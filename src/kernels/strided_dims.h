// Some dims of a buffer, and the offsets of elements along them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::kernels {

// Dims, outer first. Neighbours that are contiguous are merged.
struct StridedDims {
  std::vector<int64_t> sizes, strides;
  int64_t count = 1;

  void Add(int64_t size, int64_t stride) {
    count *= size;
    if (size == 1) return;
    if (!sizes.empty() && strides.back() == stride * size) {
      sizes.back() *= size;
      strides.back() = stride;
    } else {
      sizes.push_back(size);
      strides.push_back(stride);
    }
  }
  bool IsFlat() const { return sizes.size() <= 1; }
  int64_t stride() const { return strides.empty() ? 0 : strides[0]; }
  // Returns the offset of the element at a row-major index.
  int64_t Offset(int64_t index) const {
    int64_t offset = 0;
    for (size_t d = sizes.size(); d-- > 0; index /= sizes[d])
      offset += index % sizes[d] * strides[d];
    return offset;
  }
};

}  // namespace tessera::kernels

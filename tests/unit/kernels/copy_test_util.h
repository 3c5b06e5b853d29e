// Helpers for tests of kernels that move or sort elements.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace tessera::kernels {

using Bytes = std::vector<std::byte>;

inline int64_t Product(const Shape& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

inline Shape DenseStrides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t n = 1;
  for (size_t d = shape.size(); d-- > 0; n *= shape[d]) strides[d] = n;
  return strides;
}

inline Bytes RandomBytes(int64_t n, uint32_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(n);
  for (int64_t i = 0; i < n; i += 8) {
    const uint64_t eight = random();
    std::memcpy(bytes.data() + i, &eight, std::min<int64_t>(8, n - i));
  }
  return bytes;
}

template <class T>
Bytes ToBytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  int64_t at = 0;
  for (const T v : values) {  // by value: elements of vector<bool> have no address
    std::memcpy(bytes.data() + at, &v, sizeof(T));
    at += sizeof(T);
  }
  return bytes;
}

// Runs all parts of one call, starting with the last: their order must not matter.
inline void RunParts(const plan::Kernel& kernel, const std::vector<const Bytes*>& in,
                     const std::vector<Bytes*>& out, int32_t parts, int32_t device = 0) {
  std::vector<const std::byte*> in_data;
  std::vector<std::byte*> out_data;
  for (const Bytes* b : in) in_data.push_back(b->data());
  for (Bytes* b : out) out_data.push_back(b->data());
  Bytes scratch(kernel.scratch_bytes + 64);
  std::byte* aligned = scratch.data() + (-reinterpret_cast<uintptr_t>(scratch.data()) & 63);
  for (int32_t part = parts; part-- > 0;)
    kernel.fn({.config = kernel.config.get(),
               .in = in_data.data(),
               .out = out_data.data(),
               .scratch = aligned,
               .device = device,
               .part = part,
               .parts = parts});
}

// Compares bits. A failure shows the first different item in hexadecimal.
inline testing::AssertionResult SameItems(const Bytes& got, const Bytes& want, int64_t itemsize) {
  if (got.size() != want.size())
    return testing::AssertionFailure() << got.size() << " bytes, wanted " << want.size();
  if (got == want) return testing::AssertionSuccess();  // comparing item by item takes longer
  for (size_t i = 0; i < got.size(); i += itemsize) {
    if (std::memcmp(got.data() + i, want.data() + i, itemsize) == 0) continue;
    uint64_t a = 0, b = 0;
    std::memcpy(&a, got.data() + i, itemsize);
    std::memcpy(&b, want.data() + i, itemsize);
    return testing::AssertionFailure() << "item " << i / itemsize << " of " << got.size() / itemsize
                                       << " is 0x" << std::hex << a << ", wanted 0x" << b;
  }
  return testing::AssertionSuccess();
}

}  // namespace tessera::kernels

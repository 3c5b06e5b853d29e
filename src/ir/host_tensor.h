// Whole tensors in host memory, for the reference interpreter and for tests. Simple and slow.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/dtype.h"

namespace tessera::ir {

// A dense row-major tensor. Floats are read as double and written as long double, which holds every
// double, int64_t and uint64_t; storing rounds once to the dtype. Integers and bools are int64_t,
// wrapped to the dtype; a u64 is its two's complement.
struct HostTensor {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  HostTensor() = default;
  HostTensor(DType dtype, std::vector<int64_t> shape);
  int64_t size() const;
  double Float(int64_t i) const;                  // of any dtype; the real part of a complex number
  int64_t Int(int64_t i) const;                   // of an integer or bool
  std::complex<double> Complex(int64_t i) const;  // of any dtype
  void SetFloat(int64_t i, long double v);
  void SetInt(int64_t i, int64_t v);
  void SetComplex(int64_t i, std::complex<long double> v);  // of a complex dtype
  // Copies element j of `from`, of the same dtype.
  void SetFrom(int64_t i, const HostTensor& from, int64_t j);
};

// Returns the row-major index of `coords` in `shape`, and the inverse.
int64_t FlatIndex(const std::vector<int64_t>& shape, const std::vector<int64_t>& coords);
std::vector<int64_t> CoordsOf(const std::vector<int64_t>& shape, int64_t index);

}  // namespace tessera::ir

// A vector times a matrix with few columns, which is read once.
#pragma once
#include <cstdint>

namespace tessera::kernels {

// Matrices with this many columns are multiplied here: libraries reach only half of the bandwidth.
inline constexpr int64_t kLeastColumns = 16, kMostColumns = 256;

// out[j] = sum over i < k of x[i * x_stride] * matrix[i * row + j] for j < n; strides in elements.
// n is at least kLeastColumns, and the bits of out[j] do not depend on it.
template <class T>
struct VectorTimesMatrix {
  const T* x;
  int64_t x_stride;
  const T* matrix;
  int64_t row;
  int64_t k, n;
  T* out;
};
void Multiply(const VectorTimesMatrix<float>& product);
void Multiply(const VectorTimesMatrix<double>& product);

}  // namespace tessera::kernels

// A vector times a matrix of few columns, which is read once.
#pragma once
#include <cstdint>

namespace tessera::kernels {

// Matrices of so many columns are multiplied here: libraries reach half of the bandwidth for them.
inline constexpr int64_t kLeastColumns = 16, kMostColumns = 256;

// out[j] = sum over i < k of x[i * x_stride] * matrix[i * row + j] for j < n; strides in elements.
// The bits of out[j] do not depend on n, at least kLeastColumns.
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

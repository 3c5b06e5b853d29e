// Matrices of long doubles, for the reference functions of linear algebra.
#pragma once
#include <vector>

#include "ir/op.h"

namespace tessera::ops::reference {

struct WideMatrix {
  WideMatrix(int64_t r, int64_t c) : rows(r), cols(c), elements(static_cast<size_t>(r * c)) {}
  int64_t rows, cols;
  std::vector<long double> elements;
  long double& operator()(int64_t r, int64_t c) {
    return elements[static_cast<size_t>(r * cols + c)];
  }
  long double operator()(int64_t r, int64_t c) const {
    return elements[static_cast<size_t>(r * cols + c)];
  }
};

WideMatrix Identity(int64_t n);
WideMatrix TransposeOf(const WideMatrix& a);
WideMatrix Product(const WideMatrix& a, const WideMatrix& b);

// Returns matrix number i of an array of matrices, and sets one. A vector [..., n] has matrices of
// one row.
WideMatrix MatrixAt(const ir::HostTensor& t, int64_t i, int64_t rows, int64_t cols);
inline WideMatrix MatrixAt(const ir::HostTensor& t, int64_t i) {
  return MatrixAt(t, i, t.shape[t.shape.size() - 2], t.shape.back());
}
void SetMatrix(ir::HostTensor& t, int64_t i, const WideMatrix& m);
// Returns the number of matrices in an array [..., rows, columns].
int64_t MatrixCount(const ir::HostTensor& t);

// A Householder reflector I - tau v v^T, where v is zero before `first` and 1 there. It maps the
// column `of` to one with zeros after `first`, with LAPACK's sign.
struct Reflector {
  Reflector() = default;
  Reflector(const WideMatrix& a, int64_t of, int64_t first);
  void ApplyLeft(WideMatrix& a) const;   // H a
  void ApplyRight(WideMatrix& a) const;  // a H
  long double tau = 0;
  std::vector<long double> v;
};

// The eigenvalues of a symmetric matrix, ascending, and its eigenvectors in the columns.
struct Spectrum {
  std::vector<long double> values;
  WideMatrix vectors;
};
Spectrum SpectrumOf(WideMatrix a);

}  // namespace tessera::ops::reference

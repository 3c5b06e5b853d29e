// Matrices of complex long doubles, for the reference functions of linear algebra.
#pragma once
#include <vector>

#include "ir/op.h"
#include "ops/reference_values.h"

namespace tessera::ops::reference {

struct WideMatrix {
  WideMatrix(int64_t r, int64_t c) : rows(r), cols(c), elements(static_cast<size_t>(r * c)) {}
  int64_t rows, cols;
  std::vector<LongComplex> elements;
  LongComplex& operator()(int64_t r, int64_t c) {
    return elements[static_cast<size_t>(r * cols + c)];
  }
  LongComplex operator()(int64_t r, int64_t c) const {
    return elements[static_cast<size_t>(r * cols + c)];
  }
};

WideMatrix Identity(int64_t n);
WideMatrix TransposeOf(const WideMatrix& a);
WideMatrix AdjointOf(const WideMatrix& a);  // the conjugate transpose
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

// A Householder reflector H = I - tau v v^H, where v is zero before `first` and 1 there. H^H maps
// the column `of` to one with zeros after `first` and a real element there, with LAPACK's sign.
struct Reflector {
  Reflector() = default;
  Reflector(const WideMatrix& a, int64_t of, int64_t first);
  void ApplyLeft(WideMatrix& a) const;         // H a
  void ApplyAdjointLeft(WideMatrix& a) const;  // H^H a
  void ApplyRight(WideMatrix& a) const;        // a H
  LongComplex tau = 0;
  std::vector<LongComplex> v;
};

// The eigenvalues of a Hermitian matrix, ascending, and its eigenvectors in the columns.
struct ReferenceSpectrum {
  std::vector<long double> values;
  WideMatrix vectors;
};
ReferenceSpectrum SpectrumOf(WideMatrix a);

// Unitary `vectors` and a form with vectors form vectors^H = a.
struct SchurForm {
  WideMatrix form, vectors;
  // Replaces the form by q^H form q.
  void Rotate(const WideMatrix& q);
};
// Returns the unitary factor of the QR factorisation of a matrix.
WideMatrix UnitaryFactor(WideMatrix a);
// Returns the identity [n, n] with the block that begins at `begin` replaced by another one.
WideMatrix Embedded(const WideMatrix& block, int64_t begin, int64_t n);
// Returns the upper triangular form.
SchurForm ComplexSchurOf(const WideMatrix& a);

}  // namespace tessera::ops::reference

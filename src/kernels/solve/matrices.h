// Factorisations of matrices by LAPACK, in f32, f64, c64 and c128. Operands and results are
// batches: the comments show one matrix. A matrix with an element that is not finite gives NaN.
#pragma once
#include "kernels/kernel.h"
#include "kernels/solve/flops.h"

namespace tessera::kernels {

// in[0] a [n, n] -> lower l with l l^H = a. Reads a's lower triangle. l is NaN if a is not
// positive definite.
plan::Kernel Cholesky(DType dtype, const Shape& a);

struct TriangularDesc {
  bool left = false;       // solves op(a) x = b, else x op(a) = b
  bool lower = false;      // the triangle of a that is read
  bool transpose = false;  // op(a) is a^T
  bool conjugate = false;  // op(a) is conj(a), or a^H
  bool unit = false;       // the diagonal of a is not read: it is 1
};
// in[0] a, square; in[1] b [m, n] -> x
plan::Kernel TriangularSolve(DType dtype, const Shape& b, TriangularDesc desc);

// in[0] a [m, n] -> l below the diagonal and u on and above it, with l u = a[permutation]; for each
// elimination the row that was exchanged with it, i32 [min(m, n)]; permutation i32 [m].
plan::Kernel Lu(DType dtype, const Shape& a);

struct QrDesc {
  bool full = false;
  bool pivoting = false;  // factors a[:, permutation]
};
// in[0] a [m, n] -> q [m, k], r [k, n], where k is min(m, n), or m if `full`; with pivoting, also
// the permutation i32 [n].
plan::Kernel Qr(DType dtype, const Shape& a, QrDesc desc);
// in[0] a [m, n] -> r on and above the diagonal, with reflectors below it; taus [min(m, n)]; with
// pivoting, also the permutation i32 [n].
plan::Kernel PackedQr(DType dtype, const Shape& a, bool pivoting);
// in[0] a [m, n], in[1] taus [k] -> the first n columns of the product of k reflectors: reflector i
// is I - tau v v^H, where v is column i of a below the diagonal, with 1 on it and 0 above it.
plan::Kernel HouseholderProduct(DType dtype, const Shape& a, int64_t k);

// in[0] a [n, n], Hermitian -> eigenvectors [n, n], one per column, if `vectors`; eigenvalues [n],
// ascending. Reads a's lower triangle.
plan::Kernel Eigh(DType dtype, const Shape& a, bool vectors);
// in[0] a [n, n] -> eigenvectors [n, n], one per column, if `vectors`; eigenvalues [n]. Both are
// complex.
plan::Kernel Eig(DType dtype, const Shape& a, bool vectors);

// in[0] a [m, n] -> u [m, k], s, vt [k', n], or only s. s [min(m, n)] is descending; k and k' are
// min(m, n), or m and n for kFull.
plan::Kernel Svd(DType dtype, const Shape& a, SingularVectors vectors);

// in[0] a [n, n] -> t, upper triangular (for real a with blocks of two rows), and if `vectors` the
// unitary z with z t z^H = a.
plan::Kernel Schur(DType dtype, const Shape& a, bool vectors);
// in[0] a [n, n] -> h on and above the first subdiagonal, with reflectors below it; taus [n - 1].
plan::Kernel Hessenberg(DType dtype, const Shape& a);
// in[0] a [n, n], Hermitian -> the tridiagonal matrix, with reflectors in the rest of the triangle;
// its diagonal [n]; the diagonal next to it [n - 1]; taus [n - 1]. Reads the triangle `lower`.
plan::Kernel Tridiagonal(DType dtype, const Shape& a, bool lower);

}  // namespace tessera::kernels

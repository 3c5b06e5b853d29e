// Linear algebra: factorisations, solutions, spectra and norms of matrices.
//
//   Array x = linalg::solve(a, b);                    // a [n, n], b [n] or [n, k]
//   auto [w, v] = linalg::eigh(symmetric);            // ascending, v's columns are the vectors
//
// The names are those of jnp.linalg and jax.scipy.linalg; functions that only jax.lax.linalg has
// have its names. A matrix is the last two dims of an array, and all other dims are batch dims:
// they broadcast where a function takes several arrays, and keep their mesh axes. The dims of the
// matrices must not be sharded, unless a comment says otherwise. Ints and bools become floats;
// f16 and bf16 are refused. Matrices may be complex: a^H is the conjugate transpose, which is a^T
// for real numbers. Factorisations are those of LAPACK, one matrix per call and thread.
//
// One large matrix may be sharded over one or both dims, in cholesky, triangular_solve,
// solve_triangular, lu, solve and qr with an out_sharding. These run block by block: devices
// exchange panels, and none holds the whole matrix. It has any size n: devices need not divide it
// (blocks are padded), but for the axes over which the matrix or the result is sharded.
//
// All functions throw ShapeError for arrays that are not matrices (or not square, where that is
// needed), and DTypeError for other dtypes. Numbers are not checked: a singular matrix gives
// infinities or NaN, and so does a matrix that is not positive definite in `cholesky`; inside a
// NanWatch such a result throws (debug.h). A matrix with an element that is not finite gives NaN.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/ops.h"
#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {
namespace linalg {

// ---- positive definite matrices ----

struct CholeskyOptions {
  bool upper = false;            // returns l^H, an upper triangle
  bool symmetrize_input = true;  // uses (a + a^H) / 2; else only a's lower triangle is read
  std::optional<PartitionSpec> out_sharding = {};  // of one large matrix
};
// Returns the lower triangular l with l l^H = a: [..., n, n]. The triangle is NaN if a is not
// positive definite.
Array cholesky(Operand a, CholeskyOptions options = {}, Loc loc = Loc::Current());

// A Cholesky factor for cho_solve.
struct ChoFactor {
  Array c;             // [..., n, n], zero in its other triangle
  bool lower = false;  // the triangle that c fills
};
struct ChoFactorOptions {
  bool lower = false;
};
// Returns the factor of a.
ChoFactor cho_factor(Operand a, ChoFactorOptions options = {}, Loc loc = Loc::Current());
// Returns the solution x of a x = b, given the factor of a. b is [..., n, k], or [n].
Array cho_solve(ChoFactor factor, Operand b, Loc loc = Loc::Current());

// Returns the upper triangular factor of r^H r + w w^H, with a positive diagonal, for an upper
// triangular r [..., n, n] and w [..., n].
Array cholesky_update(Operand r, Operand w, Loc loc = Loc::Current());

// ---- triangular matrices ----

struct TriangularSolveOptions {
  bool left_side = false;                          // solves op(a) x = b instead of x op(a) = b
  bool lower = false;                              // the triangle of a that is read
  bool transpose_a = false;                        // op(a) is a^T
  bool conjugate_a = false;                        // op(a) is conj(a), or a^H
  bool unit_diagonal = false;                      // the diagonal of a counts as 1 and is not read
  std::optional<PartitionSpec> out_sharding = {};  // with a large a
};
// Returns the solution x of x op(a) = b or op(a) x = b, with a [..., n, n] triangular, b
// [..., m, n] or [..., n, m], and x like b. Strict. The other dim of b, m, may be sharded.
Array triangular_solve(Operand a, Operand b, TriangularSolveOptions options = {},
                       Loc loc = Loc::Current());

struct SolveTriangularOptions {
  bool lower = false;
  bool transposed = false;  // solves a^T x = b
  bool conjugated = false;  // solves conj(a) x = b, or a^H x = b
  bool unit_diagonal = false;
  std::optional<PartitionSpec> out_sharding = {};  // with a large a
};
// Returns the solution x of a x = b for triangular a [..., n, n] and b [..., n, k] or [n].
Array solve_triangular(Operand a, Operand b, SolveTriangularOptions options = {},
                       Loc loc = Loc::Current());

// ---- LU factorisation, and square systems ----

struct Lu {
  Array lu;           // [..., m, n]: l below the diagonal, which is 1 in l; u on and above it
  Array pivots;       // i32 [..., min(m, n)]: the row that step i exchanged with row i
  Array permutation;  // i32 [..., m]
};
struct LuOptions {
  std::optional<PartitionSpec> out_sharding = {};  // of lu, for one large matrix
};
// Returns l and u with l u = a[permutation], by elimination with partial pivoting.
Lu lu(Operand a, LuOptions options = {}, Loc loc = Loc::Current());
// Returns the permutation i32 [..., n] of rows to which the exchanges in pivots [..., k] amount.
Array lu_pivots_to_permutation(Operand pivots, int64_t n, Loc loc = Loc::Current());

struct LuFactor {
  Array lu, pivots;
};
// Returns the factors of a, for lu_solve.
LuFactor lu_factor(Operand a, Loc loc = Loc::Current());
struct LuSolveOptions {
  bool transposed = false;  // solves a^T x = b
  bool conjugated = false;  // solves conj(a) x = b, or a^H x = b
};
// Returns the solution x of a x = b, given the factors of a. b is [..., n, k], or [n].
Array lu_solve(LuFactor factor, Operand b, LuSolveOptions options = {}, Loc loc = Loc::Current());

struct SolveOptions {
  std::optional<PartitionSpec> out_sharding = {};  // with a large a
};
// Returns the solution x of a x = b for b [..., n, k], or [n], by LU factorisation. Derivatives
// reuse the factors.
Array solve(Operand a, Operand b, SolveOptions options = {}, Loc loc = Loc::Current());
// Returns the inverse [..., n, n].
Array inv(Operand a, Loc loc = Loc::Current());
// Returns the determinant [...]. It has a derivative at singular matrices too.
Array det(Operand a, Loc loc = Loc::Current());
struct Slogdet {
  Array sign, logabsdet;  // [...]
};
// Returns the sign of the determinant, which is complex for complex matrices, and the logarithm of
// its absolute value: 0 and -inf for a singular matrix.
Slogdet slogdet(Operand a, Loc loc = Loc::Current());

// ---- orthogonal factors, and least squares ----

struct Qr {
  Array q, r;
};
struct QrOptions {
  bool full_matrices = false;
  std::optional<PartitionSpec> out_sharding = {};  // of q, for one large matrix
};
// Returns q [..., m, k] with orthonormal columns and r [..., k, n], upper triangular, with
// q r = a [..., m, n]. k is min(m, n), or m with full_matrices.
Qr qr(Operand a, QrOptions options = {}, Loc loc = Loc::Current());
// The side of q on which c stands.
enum class QrSide : uint8_t { kLeft, kRight };
struct QrMultiplyOptions {
  QrSide mode = QrSide::kRight;  // c q; else q c
  bool pivoting = false;
  bool conjugate = false;  // multiplies by conj(q)
};
struct QrMultiplied {
  Array product, r;
  Array permutation = {};  // of the columns of a, with .pivoting
};
// Returns c q [..., p, k] for c [..., p, m], or q c [..., m, p] for c [..., k, p], and the r of the
// factors of a [..., m, n], where k is min(m, n). A vector c is one row, or one column.
QrMultiplied qr_multiply(Operand a, Operand c, QrMultiplyOptions options = {},
                         Loc loc = Loc::Current());
struct PivotedQrOptions {
  bool full_matrices = false;
};
struct PivotedQr {
  Array q, r;         // as for Qr
  Array permutation;  // i32 [..., n]
};
// Returns q and r with q r = a[:, permutation]: the next column is the one with the largest rest,
// so the diagonal of r descends.
PivotedQr pivoted_qr(Operand a, PivotedQrOptions options = {}, Loc loc = Loc::Current());
// Returns the first n columns of the product of k reflectors, stored as LAPACK does: column i of
// a [..., m, n] holds reflector i below the diagonal; taus is [..., k]. Strict; no derivative.
Array householder_product(Operand a, Operand taus, Loc loc = Loc::Current());

struct LstsqOptions {
  std::optional<double> rcond = {};  // default: epsilon times max(m, n)
};
struct Lstsq {
  Array x;                // [n, k], or [n]
  Array residuals;        // [k]: squared norms of the columns of b - a x
  Array rank;             // [], default int
  Array singular_values;  // [min(m, n)]
};
// Returns the x of least norm that minimises the norm of b - a x, for a [m, n] and b [m, k] or [m].
// Singular values below rcond times the largest count as 0.
Lstsq lstsq(Operand a, Operand b, LstsqOptions options = {}, Loc loc = Loc::Current());

// ---- eigenvalues and singular values ----
//
// Vectors are unique up to their sign, or to a complex factor of size 1, and spaces of equal values
// have many bases. Derivatives of vectors are NaN or infinite at equal values.

struct EighOptions {
  bool upper = false;            // reads the upper triangle, not the lower one
  bool symmetrize_input = true;  // uses (a + a^H) / 2
};
struct Eigh {
  Array eigenvalues;   // [..., n], ascending and real
  Array eigenvectors;  // [..., n, n], in columns
};
// Returns the eigenvalues and orthonormal eigenvectors of symmetric or Hermitian matrices.
Eigh eigh(Operand a, EighOptions options = {}, Loc loc = Loc::Current());
// Returns only the eigenvalues.
Array eigvalsh(Operand a, EighOptions options = {}, Loc loc = Loc::Current());

// Returns the eigenvalues and eigenvectors of the symmetric matrices with the diagonal d [..., n]
// and e [..., n - 1] above it. The matrices are Hermitian if e is complex.
Eigh eigh_tridiagonal(Operand d, Operand e, Loc loc = Loc::Current());
// Returns only the eigenvalues.
Array eigvalsh_tridiagonal(Operand d, Operand e, Loc loc = Loc::Current());

struct Eig {
  Array eigenvalues;   // [..., n], in LAPACK's order
  Array eigenvectors;  // [..., n, n], in columns of norm 1, with a real largest element
};
// Returns the eigenvalues and eigenvectors of any square matrices. Both are complex, also for real
// matrices.
Eig eig(Operand a, Loc loc = Loc::Current());
// Returns only the eigenvalues.
Array eigvals(Operand a, Loc loc = Loc::Current());

struct SvdOptions {
  bool full_matrices = true;  // without derivative unless a is square
};
struct Svd {
  Array u, s, vh;
};
// Returns the singular values s [..., min(m, n)], descending, with orthonormal columns u
// [..., m, m] and rows vh [..., n, n]: a = u[:, :k] diag(s) vh[:k], where k is min(m, n). Without
// full_matrices, only these k columns and rows.
Svd svd(Operand a, SvdOptions options = {}, Loc loc = Loc::Current());
// Returns only the singular values.
Array svdvals(Operand a, Loc loc = Loc::Current());

struct RankOptions {
  std::optional<double> rtol = {};  // smaller singular values, relative to the largest, count as 0
  bool hermitian = false;           // a is symmetric or Hermitian: uses its eigenvalues
};
// Returns the Moore-Penrose inverse [..., n, m]. The default of rtol is 10 max(m, n) epsilon.
Array pinv(Operand a, RankOptions options = {}, Loc loc = Loc::Current());
// Returns the number of singular values that are not 0: default int [...]. The default of rtol is
// max(m, n) epsilon.
Array matrix_rank(Operand a, RankOptions options = {}, Loc loc = Loc::Current());
// Returns the condition number [...] in the norm of an order (as for `norm`; 2 and -2 by singular
// values, others by the inverse). Infinite for a singular matrix. Throws ShapeError for empty
// matrices.
Array cond(Operand a, NormOrder order = 2, Loc loc = Loc::Current());

struct SchurOptions {
  bool complex = false;  // returns the complex form of a real matrix
};
struct Schur {
  Array t, z;
};
// Returns t, upper triangular, and the unitary z with z t z^H = a. For real matrices both are real,
// and t has blocks of two rows for complex eigenvalues (LAPACK's real Schur form). No derivative.
Schur schur(Operand a, SchurOptions options = {}, Loc loc = Loc::Current());
// Returns the complex Schur form for a real one.
Schur rsf2csf(Schur form, Loc loc = Loc::Current());
struct Hessenberg {
  Array a;     // [..., n, n]: h on and above the first subdiagonal, and reflectors below it
  Array taus;  // [..., n - 1]
};
// Returns the reduction of a to Hessenberg form h, with its reflectors as for householder_product.
// No derivative.
Hessenberg hessenberg(Operand a, Loc loc = Loc::Current());
struct HessenbergForm {
  Array h, q;
};
// Returns h, zero below the first subdiagonal, and the unitary q with q h q^H = a. No
// derivative.
HessenbergForm hessenberg_form(Operand a, Loc loc = Loc::Current());
struct TridiagonalOptions {
  bool lower = true;  // the triangle that is read
};
struct Tridiagonal {
  Array a;     // [..., n, n]: the tridiagonal matrix, and reflectors
  Array d, e;  // its diagonal [..., n], and the diagonal next to it [..., n - 1], both real
  Array taus;  // [..., n - 1]
};
// Returns the reduction of a symmetric or Hermitian matrix to tridiagonal form, with its reflectors
// as for householder_product. No derivative.
Tridiagonal tridiagonal(Operand a, TridiagonalOptions options = {}, Loc loc = Loc::Current());

struct PolarOptions {
  bool left = false;  // a = p u instead of a = u p
};
struct Polar {
  Array u, p;
};
// Returns u [m, n] with orthonormal columns (or rows, if m < n) and the positive semi-definite p
// with u p = a, or p u = a, by singular values.
Polar polar(Operand a, PolarOptions options = {}, Loc loc = Loc::Current());

// ---- functions of matrices ----

// Returns a^n, by squaring; for n < 0 the power of the inverse.
Array matrix_power(Operand a, int64_t n, Loc loc = Loc::Current());
// Returns e^a, by Pade approximation with scaling and squaring (Higham, 2005). NaN if the 1-norm of
// a exceeds about 2^18 (f32) or 2^18.4 (f64), which takes more than 16 squarings.
Array expm(Operand a, Loc loc = Loc::Current());
struct ExpmFrechet {
  Array expm, derivative;
};
// Returns e^a, and its derivative in the direction e.
ExpmFrechet expm_frechet(Operand a, Operand e, Loc loc = Loc::Current());
// Returns f of a, where f is applied to the eigenvalues [..., n], by the complex Schur form and
// Parlett's recurrence (Golub and Van Loan, Matrix Computations, algorithm 11.1.1): complex, also
// for real matrices. Equal eigenvalues make it inexact. No derivative.
Array funm(Operand a, const std::function<Array(Array)>& f, Loc loc = Loc::Current());
// Returns the square root of a, by its complex Schur form: complex, also for real matrices. No
// derivative.
Array sqrtm(Operand a, Loc loc = Loc::Current());
// Returns x with its last two dims exchanged.
Array matrix_transpose(Operand x, Loc loc = Loc::Current());

// ---- matrices of a form, and linear equations of arrays ----

struct SylvesterOptions {
  double tol = 1e-8;  // x is NaN if a and -b have eigenvalues closer than this
};
// Returns the solution x [..., m, n] of a x + x b = c, for a [..., m, m] and b [..., n, n], by
// complex Schur forms. It has a derivative in c only.
Array solve_sylvester(Operand a, Operand b, Operand c, SylvesterOptions options = {},
                      Loc loc = Loc::Current());
// Returns the matrix with the matrices of the list along its diagonal, and zeros elsewhere. Vectors
// and scalars count as one row.
Array block_diag(std::vector<Array> matrices, Loc loc = Loc::Current());
// Returns the matrices [..., m, n] with equal diagonals, whose first column is c [..., m] and whose
// first row is r [..., n] but for its first element. r is conj(c) by default.
Array toeplitz(Operand c, std::optional<Operand> r = {}, Loc loc = Loc::Current());
// Returns 1 / (i + j + 1) in row i and column j: [n, n], in the default float.
Array hilbert(int64_t n, Loc loc = Loc::Current());
// Returns the inverse of `tensordot` with a, whose first `ind` dims have together the size of the
// others; those come first in the result.
Array tensorinv(Operand a, int ind = 2, Loc loc = Loc::Current());
struct TensorSolveOptions {
  std::vector<int> dims = {};  // dims of a that move to its end first
};
// Returns the x for which tensordot(a, x) over the last dims of a, those after the dims of b, is b.
Array tensorsolve(Operand a, Operand b, TensorSolveOptions options = {}, Loc loc = Loc::Current());

// ---- norms and products ----

// Returns norms of vectors or matrices: the function `tessera::norm`.
Array norm(Operand x, Dims dims = All, NormOptions options = {}, Loc loc = Loc::Current());
struct VectorNormOptions {
  NormOrder ord = 2;
  bool keepdims = false;
};
// Returns the norm of the elements along `dims`, which count as one vector.
Array vector_norm(Operand x, Dims dims = All, VectorNormOptions options = {},
                  Loc loc = Loc::Current());
struct MatrixNormOptions {
  NormOrder ord = "fro";
  bool keepdims = false;
};
// Returns the norms of matrices.
Array matrix_norm(Operand x, MatrixNormOptions options = {}, Loc loc = Loc::Current());
// Returns the product of two or more matrices, in the order that takes the least operations. The
// first and the last may be vectors.
Array multi_dot(std::vector<Array> matrices, Loc loc = Loc::Current());
// Returns the vector product of vectors of size 3 along `dim`, which broadcast.
Array cross(Operand a, Operand b, int dim = -1, Loc loc = Loc::Current());

}  // namespace linalg
}  // namespace tessera

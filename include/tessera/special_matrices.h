// Matrices of a form: by their size, or from the vectors that they consist of.
//
//   Array h = linalg::hadamard(8, {.out_sharding = P("x")});
//   Array c = linalg::circulant(array({1, 2, 3}));        // [3, 3]
//
// The names are those of jax.scipy.linalg. toeplitz, hilbert and block_diag are in linalg.h.
#pragma once
#include <cstdint>
#include <optional>

#include "tessera/linalg.h"
#include "tessera/ops.h"
#include "tessera/options.h"
#include "tessera/statistics.h"

namespace TESSERA_PUBLIC tessera {
namespace linalg {

// ---- by size: [n, n]. Each device computes its own shard; throw ShapeError for n < 0 ----

struct MatrixOptions {
  DType dtype = {};  // default: the default float
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns the inverse of hilbert(n), whose elements are whole numbers.
Array invhilbert(int64_t n, MatrixOptions options = {}, Loc loc = Loc::Current());

// The symmetric Pascal matrix has the element (i + j choose i); its factors l l^T are triangles.
enum class PascalKind : uint8_t { kSymmetric, kLower, kUpper };
struct PascalOptions {
  PascalKind kind = PascalKind::kSymmetric;
  DType dtype = {};  // default: the default float
  std::optional<PartitionSpec> out_sharding = {};
};
// Return the matrix of binomial coefficients, and its inverse.
Array pascal(int64_t n, PascalOptions options = {}, Loc loc = Loc::Current());
Array invpascal(int64_t n, PascalOptions options = {}, Loc loc = Loc::Current());

struct HelmertOptions {
  bool full = false;  // with a first row of equal elements: [n, n]
  DType dtype = {};   // default: the default float
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns orthonormal rows. Row i compares element i + 1 with the mean of those before it:
// [n - 1, n]. Throws ShapeError for n < 1.
Array helmert(int64_t n, HelmertOptions options = {}, Loc loc = Loc::Current());

// Returns orthogonal rows of elements 1 and -1, in the default int unless .dtype is given. Throws
// ShapeError unless n is a power of 2.
Array hadamard(int64_t n, MatrixOptions options = {}, Loc loc = Loc::Current());

// The divisor of the elements of dft: 1, sqrt(n) or n.
enum class DftScale : uint8_t { kNone, kSqrtN, kN };
struct DftOptions {
  DftScale scale = DftScale::kNone;
  DType dtype = {};  // complex; default: from the default float
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns the matrix of exp(-2 pi i j k / n), by which fft multiplies. Throws DTypeError for a
// dtype that is not complex.
Array dft(int64_t n, DftOptions options = {}, Loc loc = Loc::Current());

// ---- of vectors [..., n], which must be whole; the other dims are batch dims ----

// Returns the matrices [..., m, n] with equal antidiagonals, whose first column is c [..., m] and
// whose last row is r [..., n] but for its first element. r is zeros [m] by default.
Array hankel(Operand c, std::optional<Operand> r = {}, Loc loc = Loc::Current());
// Returns the matrices whose column j is c, rotated by j: [..., n, n].
Array circulant(Operand c, Loc loc = Loc::Current());
// Returns the matrices with first row f [..., n] and s [..., n - 1] below the diagonal. Throws
// ShapeError for other sizes, and for n < 2.
Array leslie(Operand f, Operand s, Loc loc = Loc::Current());
// Returns the matrices [..., n - 1, n - 1] whose characteristic polynomials have the coefficients
// a [..., n], from the highest power on; floating. Throws ShapeError for n < 2.
Array companion(Operand a, Loc loc = Loc::Current());
// Returns the same with five diagonals, in the form of Fiedler (2003). Throws ShapeError for n < 1.
Array fiedler_companion(Operand a, Loc loc = Loc::Current());
// Returns |a[i] - a[j]| in row i and column j: [..., n, n].
Array fiedler(Operand a, Loc loc = Loc::Current());
// Returns the matrices that convolve a with a vector of n elements, as `convolve` does in this
// mode: [..., elements of the result, n]. Throws ShapeError for n < 1, and for an empty a.
Array convolution_matrix(Operand a, int64_t n, ConvolveMode mode = ConvolveMode::kFull,
                         Loc loc = Loc::Current());

}  // namespace linalg
}  // namespace tessera

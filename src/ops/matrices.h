// Checks, dimension maps and formulas for the records of linear algebra. All dims but the last two
// are batch dims.
#pragma once
#include <vector>

#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/expression.h"
#include "ops/params.h"

namespace tessera::ops {

// C11, C13, C14, C17: there must be n operands [..., rows, columns] of one dtype, f32, f64, c64 or
// c128. The operands from `vectors` on have one dim less.
void CheckMatrices(const TypeCall& c, size_t n, size_t vectors = 2);
// C18: operand 0 must be square.
void CheckSquare(const TypeCall& c);
// C19: all operands must have the batch dims of operand 0. `dims`: the dims of each operand that
// are not batch dims.
void CheckBatch(const TypeCall& c, absl::Span<const size_t> dims);

// Returns the shape with other dims after the batch dims.
Shape WithMatrix(Shape batch, std::initializer_list<int64_t> dims);
// Returns the batch dims of an array of matrices.
Shape BatchOf(const Shape& matrices);

// Returns the map of an op on whole matrices: batch dims pass, and all other dims must be whole.
// Each number is the count of an operand's or result's dims that are not batch dims. Dims at the
// same place of a matrix share a factor if they have one size. The points of the op are the
// operations on all matrices; `flops` are those on one.
sharding::DimMap MatrixMap(const ir::DimsCall& c, std::vector<size_t> operands,
                           std::vector<size_t> results, double flops);

// The sizes of the last two dims of operand 0, as numbers.
struct MatrixSize {
  double m, n;
};
MatrixSize SizeOfMatrix(const ir::DimsCall& c);

// ---- formulas ----

// Returns the type of one more result of an op with a result of type `like`: the same batch dims,
// then `dims`. `own`: the number of dims of `like` that are not batch dims.
const ir::Type* TypeBeside(const ir::Type* like, size_t own, std::initializer_list<int64_t> dims);

// Returns a value without its reduced axes, so that formulas can combine it with any other value.
X WithoutReduced(ir::Builder& b, ir::ValueId v);

inline int64_t RowsOf(X x) { return x.type()->shape()[x.type()->shape().size() - 2]; }
inline int64_t ColumnsOf(X x) { return x.type()->shape().back(); }

X MatMul(X a, X b);
X Transposed(X x);
// Of real matrices: x, x, and the transpose.
X Conjugated(X x);
X RealOf(X x);
inline X Adjoint(X x) { return Conjugated(Transposed(x)); }
// Returns x in the dtype of another value.
X InDTypeOf(X x, X like);
// Returns x with zeros above, or below, the k-th diagonal.
X Lower(X x, int64_t k = 0);
X Upper(X x, int64_t k = 0);
// Returns the identity [1, ..., n, n] to combine with matrices x [..., n, n].
X IdentityFor(X x);
// Returns it with zeros in place of the first k ones.
X IdentityFrom(X x, int64_t k);
// Returns the Hermitian matrix with the lower triangle of x, whose diagonal counts as real.
X MirroredLower(X x);
// Returns the diagonal [..., n] of square matrices.
X DiagonalOf(X x);
// Returns the sums of the columns [..., n].
X ColumnSums(X x);
// Returns vectors [..., n] as matrices of one row, or one column.
X AsRow(X v);
X AsColumn(X v);
// Returns the rows, or columns, [begin, end).
X SliceOf(X x, int64_t dims_from_end, int64_t begin, int64_t end);
inline X RowSlice(X x, int64_t begin, int64_t end) { return SliceOf(x, 2, begin, end); }
inline X ColumnSlice(X x, int64_t begin, int64_t end) { return SliceOf(x, 1, begin, end); }
// Joins matrices below, or beside, each other.
X Below(X a, X b);
X Beside(X a, X b);
X SolveTriangular(X a, X b, TriangularSolveParams params);
// Returns x with its rows in the order of a permutation [..., m].
X PermutedRows(X x, X permutation);
inline X PermutedColumns(X x, X permutation) {
  return Transposed(PermutedRows(Transposed(x), permutation));
}
// Returns the solution x of a x = b.
X SolveByLu(X a, X b);

}  // namespace tessera::ops

// Array functions at the caller's line, for formulas over matrices.
#pragma once
#include "api/core/operands.h"
#include "tessera/ops.h"

namespace tessera::api {

// Batch dims come first. The functions of two arrays broadcast as public functions do.
class MatrixFormulas {
 public:
  explicit MatrixFormulas(Call call) : call_(call), loc_(call.loc) {}

  Array Add(const Array& a, const Array& b) const;
  Array Sub(const Array& a, const Array& b) const;
  Array Mul(const Array& a, const Array& b) const;
  Array Div(const Array& a, const Array& b) const;
  Array Scaled(const Array& a, double by) const;
  Array Where(const Array& c, const Array& a, const Array& b) const;
  Array MatMul(const Array& a, const Array& b) const;
  Array Transposed(const Array& a) const;
  Array Adjoint(const Array& a) const;  // the conjugate transpose
  // Returns a number of the dtype of x.
  Array NumberLike(const Array& x, double value) const;
  // Returns vectors [..., n] as matrices of one column, or one row.
  Array Column(const Array& v) const;
  Array Row(const Array& v) const;
  // Returns the elements [begin, end) of the dim that many from the end.
  Array Slice(const Array& x, int dims_from_end, int64_t begin, int64_t end) const;
  // Returns the elements of the last dim at `index`, without the dim.
  Array Entry(const Array& x, int64_t index) const;
  // Returns the identity [n, n].
  Array Identity(const Array& like, int64_t n) const;
  // Returns the diagonal [..., n] of matrices, and its sum.
  Array Diagonal(const Array& x) const;
  Array Trace(const Array& x) const;
  // Returns x with its rows in the order of a permutation [..., m].
  Array PermutedRows(const Array& x, const Array& permutation) const;
  // Returns x [batch..., dims...] broadcast to other batch dims; `own` is the number of `dims`.
  Array WithBatch(const Array& x, const base::Shape& batch, size_t own) const;

  Call call() const { return call_; }
  Loc loc() const { return loc_; }

 private:
  Call call_;
  Loc loc_;
};

// The dims of a matrix that may be sharded.
enum class OwnDims : uint8_t { kWhole, kSharded };
// Returns the operand as floats, with two dims or more. Throws ShapeError (C11) otherwise. C6: the
// dims of the matrices must be whole, but for functions that take sharded ones.
Array ToMatrices(const Operand& x, Call call, OwnDims own = OwnDims::kWhole);
// As above. C12: the matrices must be square.
Array ToSquare(const Operand& x, Call call, OwnDims own = OwnDims::kWhole);
// Returns a number as a vector of one element, and vectors as they are.
inline Array ToVectors(const Array& x, Call call) {
  return Rank(x) > 0 ? x : Reshape(x, {1}, call);
}
inline int64_t RowsOf(const Array& x) { return ShapeOf(x)[ShapeOf(x).size() - 2]; }
inline int64_t ColumnsOf(const Array& x) { return ShapeOf(x).back(); }
base::Shape BatchOf(const Array& x, size_t own = 2);
// Returns the batch dims to which those of both arrays broadcast. C18: there must be some.
base::Shape JointBatch(const Array& a, const Array& b, Call call);
// The distance from 1 to the next number of a floating dtype, or of a complex dtype's parts.
double EpsilonOf(DType dtype);

}  // namespace tessera::api

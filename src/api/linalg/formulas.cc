// Pieces, identities and batch dims of matrices, at the caller's line.
#include "api/linalg/formulas.h"

#include <fmt/format.h>

#include <limits>

#include "base/dtype.h"
#include "ops/check.h"
#include "tessera/lookup.h"

namespace tessera::api {

Array MatrixFormulas::Add(const Array& a, const Array& b) const { return add(a, b, {}, loc_); }
Array MatrixFormulas::Sub(const Array& a, const Array& b) const { return sub(a, b, {}, loc_); }
Array MatrixFormulas::Mul(const Array& a, const Array& b) const { return mul(a, b, {}, loc_); }
Array MatrixFormulas::Div(const Array& a, const Array& b) const { return divide(a, b, {}, loc_); }
Array MatrixFormulas::Scaled(const Array& a, double by) const {
  return mul(a, Operand(by, loc_), {}, loc_);
}
Array MatrixFormulas::Where(const Array& c, const Array& a, const Array& b) const {
  return where(c, a, b, {}, loc_);
}
Array MatrixFormulas::MatMul(const Array& a, const Array& b) const {
  return matmul(a, b, {}, loc_);
}
Array MatrixFormulas::Transposed(const Array& a) const { return swapaxes(a, -1, -2, loc_); }
Array MatrixFormulas::Adjoint(const Array& a) const { return conj(Transposed(a), loc_); }
Array MatrixFormulas::NumberLike(const Array& x, double value) const {
  return StrongScalar(value, TypeOf(x)->dtype(), call_);
}
Array MatrixFormulas::Column(const Array& v) const { return expand_dims(v, {-1}, loc_); }
Array MatrixFormulas::Row(const Array& v) const { return expand_dims(v, {-2}, loc_); }
Array MatrixFormulas::Diagonal(const Array& x) const {
  return diagonal(x, {.dim1 = -2, .dim2 = -1}, loc_);
}

Array MatrixFormulas::Slice(const Array& x, int dims_from_end, int64_t begin, int64_t end) const {
  const base::Shape& shape = ShapeOf(x);
  const size_t d = shape.size() - static_cast<size_t>(dims_from_end);
  if (begin == 0 && end == shape[d]) return x;
  base::Shape starts(shape.size(), 0), limits = shape;
  starts[d] = begin;
  limits[d] = end;
  return slice(x, starts, limits, {}, loc_);
}

Array MatrixFormulas::Entry(const Array& x, int64_t index) const {
  return squeeze(Slice(x, 1, index, index + 1), {-1}, loc_);
}

Array MatrixFormulas::Identity(const Array& like, int64_t n) const {
  return eye(n, {.dtype = TypeOf(like)->dtype()}, loc_);
}

Array MatrixFormulas::Trace(const Array& x) const {
  const DType t = TypeOf(x)->dtype();
  return matrix_trace(x, {.dtype = t, .dim1 = -2, .dim2 = -1}, loc_);
}

Array MatrixFormulas::PermutedRows(const Array& x, const Array& permutation) const {
  const Array indices = BroadcastTo(Column(permutation), ShapeOf(x), call_);
  return take_along_dim(x, indices, -2, {}, loc_);
}

Array MatrixFormulas::WithBatch(const Array& x, const base::Shape& batch, size_t own) const {
  base::Shape shape = batch;
  shape.insert(shape.end(), ShapeOf(x).end() - static_cast<long>(own), ShapeOf(x).end());
  return shape == ShapeOf(x) ? x : BroadcastTo(x, shape, call_);
}

namespace {

void CheckWhole(const Array& a, Call call) {
  if (!TypeOf(a)->mesh()) return;
  const auto& dims = TypeOf(a)->sharding().dims;
  for (size_t d = dims.size() - 2; d < dims.size(); ++d)
    if (!dims[d].axes.empty())
      FailSharding(call, 6,
                   fmt::format("it needs the dims of a matrix unsharded, but {} is sharded over {}",
                               d + 1 == dims.size() ? "the last" : "the last but one",
                               sharding::PlainAxesText(*TypeOf(a)->mesh(), dims[d].axes)),
                   {});
}

}  // namespace

Array ToMatrices(const Operand& x, Call call, OwnDims own) {
  Array a = ToFloat(x, call);
  if (Rank(a) < 2) FailShape(call, 11, fmt::format("a matrix has rank 2 or more, not {}", Rank(a)));
  if (own == OwnDims::kWhole) CheckWhole(a, call);
  return a;
}

Array ToSquare(const Operand& x, Call call, OwnDims own) {
  Array a = ToMatrices(x, call, own);
  if (RowsOf(a) != ColumnsOf(a))
    FailShape(call, 12,
              fmt::format("the matrix must be square, not {} x {}", RowsOf(a), ColumnsOf(a)));
  return a;
}

base::Shape BatchOf(const Array& x, size_t own) {
  return {ShapeOf(x).begin(), ShapeOf(x).end() - static_cast<long>(own)};
}

base::Shape JointBatch(const Array& a, const Array& b, Call call) {
  base::Shape batch = BatchOf(a);
  if (!BroadcastWith(batch, BatchOf(b)))
    FailShape(call, 18,
              fmt::format("batch dims {} and {} do not broadcast", ops::ShapeText(BatchOf(a)),
                          ops::ShapeText(BatchOf(b))));
  return batch;
}

double EpsilonOf(DType dtype) {
  return base::PartOf(dtype) == f64 ? std::numeric_limits<double>::epsilon()
                                    : std::numeric_limits<float>::epsilon();
}

}  // namespace tessera::api

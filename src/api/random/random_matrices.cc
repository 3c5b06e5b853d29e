// Samples vectors and matrices, with factors that are computed column by column.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/random/distributions.h"
#include "api/random/parameters.h"
#include "base/at.h"
#include "tessera/control.h"
#include "tessera/random.h"

namespace tessera {

using namespace api;

namespace {

// Rows, columns and products of matrices [..., n, m], computed as masked sums instead of matrix
// products, so that the batch dims may have any sharding.
class Matrices {
 public:
  explicit Matrices(Call call) : call_(call), loc_(call.loc) {}
  // Return [..., n] as a column, and [..., m] as a row.
  Array Column(const Array& v) const { return expand_dims(v, -1, loc_); }
  Array Row(const Array& v) const { return expand_dims(v, -2, loc_); }
  // Returns a mask of n elements that is true at position j.
  Array Is(const Array& j, int64_t n) const { return eq(iota({n}, 0, {i32}, loc_), j, {}, loc_); }
  Array If(const Array& p, const Array& x, const Array& y) const {
    return where(p, x, y, {}, loc_);
  }
  // Return the column or the row that the mask marks.
  Array ColumnOf(const Array& a, const Array& is) const {
    return sum(If(is, a, zeros_like(a, {}, loc_)), -1, {}, loc_);
  }
  Array RowOf(const Array& a, const Array& is) const {
    return sum(If(Column(is), a, zeros_like(a, {}, loc_)), -2, {}, loc_);
  }
  Array WithColumn(const Array& a, const Array& is, const Array& column) const {
    return If(is, Column(column), a);
  }
  Array Product(const Array& a, const Array& v) const {
    return sum(mul(a, Row(v), {}, loc_), -1, {}, loc_);
  }
  Array TransposedProduct(const Array& a, const Array& v) const {
    return sum(mul(a, Column(v), {}, loc_), -2, {}, loc_);
  }

  // Returns the lower triangular factor L of (A + A') / 2 = L L'. Matrices that are not positive
  // definite give a factor of NaN.
  Array Cholesky(const Array& given) const {
    const Loc loc = loc_;
    const int64_t n = ShapeOf(given).back();
    const DType t = TypeOf(given)->dtype();
    const Array half = StrongScalar(0.5, t, call_);
    const Array a = mul(add(given, swapaxes(given, -1, -2, loc), {}, loc), half, {}, loc);
    const Array nan = StrongScalar(std::numeric_limits<double>::quiet_NaN(), t, call_);
    const Array zero = StrongScalar(0, t, call_);
    const auto next = [&](Array j, Array l) {
      const Array is = Is(j, n);
      const Array rest = sub(ColumnOf(a, is), Product(l, RowOf(l, is)), {}, loc);
      const Array pivot = sum(If(is, rest, zeros_like(rest, {}, loc)), -1, {.keepdims = true}, loc);
      const Array good = gt(pivot, zero, {}, loc);
      const Array root = sqrt(If(good, pivot, nan), loc);
      const Array below = ge(iota({n}, 0, {i32}, loc), j, {}, loc);
      return WithColumn(l, is, If(below, div(rest, root, {}, loc), zeros_like(rest, {}, loc)));
    };
    const Array l = fori_loop(0, n, next, zeros_like(a, {}, loc), {}, loc);
    const Array bad = any(isnan(l, loc), {-2, -1}, {.keepdims = true}, loc);
    return If(bad, nan, l);
  }

  // Returns the factor Q of A = Q R with orthonormal columns, where R has a positive diagonal. Uses
  // Gram-Schmidt twice per column, which makes Q orthonormal to machine precision.
  Array Orthonormal(const Array& a) const {
    const Loc loc = loc_;
    const int64_t m = ShapeOf(a).back();
    const auto next = [&](Array j, Array q) {
      const Array is = Is(j, m);
      Array v = ColumnOf(a, is);
      for (int i = 0; i < 2; ++i) v = sub(v, Product(q, TransposedProduct(q, v)), {}, loc);
      const Array squares = sum(mul(v, v, {}, loc), -1, {.keepdims = true}, loc);
      return WithColumn(q, is, div(v, sqrt(squares, loc), {}, loc));
    };
    return fori_loop(0, m, next, zeros_like(a, {}, loc), {}, loc);
  }

 private:
  Call call_;
  Loc loc_;
};

// C19: throws ShardingError if one of the last dims is sharded, because it would be gathered.
void CheckWhole(const Array& x, int dims, const char* name, Call call) {
  const ir::Type* type = TypeOf(x);
  for (int64_t d = type->rank() - dims; d < type->rank(); ++d)
    if (!base::At(type->sharding().dims, d).axes.empty())
      FailSharding(call, 19, fmt::format("dim {} of the {} is sharded: {}", d, name, type->text()),
                   {"each device needs whole vectors and matrices: reshard(" + std::string(name) +
                    ", ...)"});
}

Array NormalVectors(const Array& key, const DrawnAs& as, const Array& mean, const Array& cov,
                    Call call) {
  const Matrices of(call);
  const Array z = Normal(key, as, call);
  const Array factor = of.Cholesky(cov);
  return add(mean, einsum("...ij,...j->...i", {factor, z}, {}, call.loc), {}, call.loc);
}

// Returns the shape to which the batch dims of the mean and the covariance broadcast. Throws
// ShapeError if their shapes do not match.
base::Shape BatchOf(const ir::Type* mean, const ir::Type* cov, Call call) {
  if (mean->rank() < 1 || cov->rank() < 2)
    FailShape(call, 17,
              fmt::format("it takes a mean [..., n] and a covariance [..., n, n], not {} and {}",
                          mean->text(), cov->text()));
  const int64_t n = mean->shape().back();
  const base::Shape& matrix = cov->shape();
  if (matrix.back() != n || matrix[matrix.size() - 2] != n)
    FailShape(call, 17,
              fmt::format("a mean of {} numbers has a covariance [..., {}, {}], not {}", n, n, n,
                          cov->text()));
  base::Shape batch(mean->shape().begin(), mean->shape().end() - 1);
  if (!BroadcastWith(batch, base::Shape(matrix.begin(), matrix.end() - 2)))
    FailShape(call, 16,
              fmt::format("the parameters' shapes do not broadcast: {} and {}", mean->text(),
                          cov->text()));
  return batch;
}

Array DrawVectors(const Operand& key, const Operand& mean, const Operand& cov,
                  const std::optional<base::Shape>& shape, const CreateOptions& options,
                  Call call) {
  const std::vector<Operand> operands = WithKey(
      key, {Operand(ToArray(mean, call), call.loc), Operand(ToArray(cov, call), call.loc)}, call);
  const ir::Type *m = TypeOf(operands[1].array()), *c = TypeOf(operands[2].array());
  const base::Shape batch = BatchOf(m, c, call);
  base::Shape whole = shape.value_or(batch);
  CheckBroadcastsTo(batch, whole, call);
  whole.push_back(m->shape().back());
  CheckWhole(operands[1].array(), 1, "mean", call);
  CheckWhole(operands[2].array(), 2, "covariance", call);
  const DType t = options.dtype.is_default()
                      ? FloatOf(PromotedDType({operands[1], operands[2]}, call))
                      : options.dtype;
  const DrawnAs as = FloatsOf(whole, t, options.out_sharding, call);
  return DrawnLaidOut(operands, "", as, call, [&](const std::vector<Operand>& all, DrawnAs inside) {
    const Array mu = Convert(all[1].array(), t, call);
    if (!as.out_sharding) {  // only the mean decides the sharding, not a covariance of that rank
      inside = as;
      if (ShapeOf(mu).size() == whole.size()) inside = LaidLike(mu, whole, t);
    }
    return NormalVectors(all[0].array(), inside, mu, Convert(all[2].array(), t, call), call);
  });
}

}  // namespace

namespace random {

Array multivariate_normal(Operand key, Operand mean, Operand cov, Shape shape,
                          CreateOptions options, Loc loc) {
  return DrawVectors(key, mean, cov, shape.dims(), options, {"random::multivariate_normal", loc});
}
Array multivariate_normal(Operand key, Operand mean, Operand cov, Loc loc) {
  return DrawVectors(key, mean, cov, {}, {}, {"random::multivariate_normal", loc});
}

Array orthogonal(Operand key, int64_t n, Shape shape, OrthogonalOptions options, Loc loc) {
  const Call call{"random::orthogonal", loc};
  const Array k = KeyOf(key, call);
  const int64_t m = options.m.value_or(n);
  if (n < 0 || m < 0)
    FailShape(call, 17,
              fmt::format("a matrix has 0 rows and columns or more, not {} and {}", n, m));
  base::Shape whole = shape.dims();
  whole.insert(whole.end(), {n, m});
  const DrawnAs as = FloatsOf(whole, options.dtype, options.out_sharding, call);
  return DrawnLaidOut(
      {Operand(k, key.loc())}, "", as, call,
      [&](const std::vector<Operand>& all, const DrawnAs& inside) {
        DrawnAs tall = inside;
        tall.shape[tall.shape.size() - 2] = std::max(n, m);
        tall.shape.back() = std::min(n, m);
        const Array q = Matrices(call).Orthonormal(Normal(all[0].array(), tall, call));
        return n < m ? swapaxes(q, -1, -2, loc) : q;
      },
      Shards::kMoved);
}

}  // namespace random
}  // namespace tessera

// Some of the largest eigenvalues of a symmetric matrix, by block conjugate gradients.
#include <fmt/format.h>

#include <limits>

#include "api/linalg/formulas.h"
#include "ops/check.h"
#include "tessera/control.h"
#include "tessera/solvers.h"

namespace tessera::linalg {

using namespace api;

namespace {

using Operator = std::function<Array(Array)>;

// The state after step k: orthonormal columns of approximations x and directions p, and residuals.
// Columns of p may be zero, where the basis has fewer than 3 k directions.
struct LobpcgState {
  Array x, p, residual, eigenvalues, converged, k;
};
TESSERA_FIELDS(LobpcgState, x, p, residual, eigenvalues, converged, k);

// The steps of JAX's lobpcg_standard: after Duersch et al., A robust and efficient implementation
// of LOBPCG (2018).
class Steps {
 public:
  Steps(Operator a, double tol, Call call) : a_(std::move(a)), tol_(tol), f_(call) {}

  LobpcgState Start(const Array& given) const {
    const Array x = Orthonormal(given);
    const Array ax = a_(x), values = Sum(f_.Mul(x, ax)), none = StrongScalar(0, i32, f_.call());
    return {x, zeros_like(x, {}, loc()), f_.Sub(ax, f_.Mul(values, x)), values, none, none};
  }

  LobpcgState Step(const LobpcgState& s) const {
    const int64_t k = ColumnsOf(s.x);
    const Array known = concatenate({s.x, s.p}, 1, loc());
    const Array basis = concatenate({known, Outside(known, s.residual)}, 1, loc());
    const auto [theta, q] = RayleighRitz(basis);
    const Array x = Normalised(f_.MatMul(basis, Normalised(f_.Slice(q, 1, 0, k))));
    // The directions from the last x to this one, orthogonal to this one.
    const Array rest = f_.Slice(q, 1, k, 3 * k);
    const Array turn = qr(f_.Transposed(f_.Slice(rest, 2, 0, k)), {}, loc()).q;
    const Array p = Normalised(f_.MatMul(basis, f_.MatMul(rest, turn)));
    const Array values = f_.Slice(theta, 1, 0, k), ax = a_(x);
    const Array residual = f_.Sub(ax, f_.Mul(values, x));
    const double factor = 10 * static_cast<double>(RowsOf(x)) * tol_;
    const Array goal = f_.Scaled(f_.Add(Norms(ax), abs(values, loc())), factor);
    const Array converged = reduce_sum(
        convert_element_type(lt(Norms(residual), goal, {}, loc()), i32, loc()), All, {}, loc());
    return {x, p, residual, values, converged, f_.Add(s.k, StrongScalar(1, i32, f_.call()))};
  }

 private:
  Loc loc() const { return f_.loc(); }
  // Sums of columns.
  Array Sum(const Array& x) const { return reduce_sum(x, {0}, {}, loc()); }
  Array Norms(const Array& x) const { return sqrt(Sum(f_.Mul(x, x)), loc()); }
  // Returns a^T b, whole on every device.
  Array Gram(const Array& a, const Array& b) const {
    const bool sharded = TypeOf(a)->mesh() && !TypeOf(a)->sharding().dims[0].axes.empty();
    DotOptions options;
    if (sharded) options.out_sharding = P(None, None);
    return matmul(f_.Transposed(a), b, options, loc());
  }
  Array OrOne(const Array& x) const {
    const Array positive = gt(x, f_.NumberLike(x, 0), {}, loc());
    return f_.Where(positive, x, f_.NumberLike(x, 1));
  }
  // Columns of norm 1. Zero ones stay.
  Array Normalised(const Array& x) const { return f_.Div(x, OrOne(Norms(x))); }
  // Eigenvalues and vectors of a small symmetric matrix.
  std::pair<Array, Array> Descending(const Array& a) const {
    const Eigh e = eigh(a, {}, loc());
    return {rev(e.eigenvalues, {0}, loc()), rev(e.eigenvectors, {1}, loc())};
  }
  // An orthonormal basis of the columns, by the eigenvectors of their products (Stathopoulos and
  // Wu, 2002). Columns beyond their rank are zero.
  Array OrthonormalOnce(const Array& given) const {
    const Array x = Normalised(given), inner = Gram(x, x);
    const auto [w, vectors] = Descending(inner);
    const Array zero = f_.NumberLike(w, 0);
    const Array least = f_.Scaled(f_.Slice(w, 1, 0, 1), EpsilonOf(TypeOf(w)->dtype()));
    const Array made =
        f_.MatMul(x, f_.Div(vectors, sqrt(OrOne(maximum(w, least, {}, loc())), loc())));
    const Array keep =
        bitwise_and(gt(w, least, {}, loc()), gt(f_.Diagonal(inner), zero, {}, loc()), {}, loc());
    return Normalised(f_.Where(keep, made, zero));
  }
  Array Orthonormal(const Array& x) const { return OrthonormalOnce(OrthonormalOnce(x)); }
  Array Without(const Array& basis, const Array& u) const {
    return f_.Sub(u, f_.MatMul(basis, Gram(basis, u)));
  }
  // Orthonormal columns of u outside of the basis. It ends with a subtraction, as normalising small
  // remainders brings parts of the basis back; columns that lose length by it become zero.
  Array Outside(const Array& basis, Array u) const {
    for (int i = 0; i < 2; ++i) u = Orthonormal(Without(basis, u));
    for (int i = 0; i < 2; ++i) u = Without(basis, u);
    const Array norms = Norms(u);
    return f_.Where(ge(norms, f_.NumberLike(norms, 0.99), {}, loc()), u, f_.NumberLike(u, 0));
  }
  // Eigenvalues and vectors of a in the basis. Columns of zeros count as the smallest values.
  std::pair<Array, Array> RayleighRitz(const Array& basis) const {
    const Array inner = Gram(basis, a_(basis));
    const Array bound = sqrt(reduce_sum(f_.Mul(inner, inner), All, {}, loc()), loc());
    const Array none = eq(Sum(f_.Mul(basis, basis)), f_.NumberLike(bound, 0), {}, loc());
    const Array below = f_.Where(none, f_.Scaled(bound, -2), f_.NumberLike(bound, 0));
    return Descending(f_.Add(inner, diag(below, 0, {}, loc())));
  }

  Operator a_;
  double tol_;
  MatrixFormulas f_;
};

// C17, C19: numbers and sizes of a call must be in range.
void CheckCall(const Array& x, const LobpcgOptions& options, Call call) {
  if (Rank(x) != 2 || ColumnsOf(x) == 0 || 5 * ColumnsOf(x) >= RowsOf(x))
    FailShape(call, 19,
              fmt::format("x is {}, but must be [n, k] with k at least 1 and less than n / 5",
                          ops::ShapeText(ShapeOf(x))));
  if (options.maxiter < 0 || options.maxiter > std::numeric_limits<int32_t>::max())
    FailShape(call, 17,
              fmt::format("maxiter is {}, but must be at least 0 and below 2^31", options.maxiter));
  if (options.tol && !(*options.tol >= 0))
    FailShape(call, 17, fmt::format("tol is {}, but must be at least 0", *options.tol));
}

Lobpcg Largest(const Operator& a, const Operand& given, const LobpcgOptions& options, Call call) {
  const Array x = ToFloat(given, call);
  CheckReal(x, call);
  CheckCall(x, options, call);
  const double tol = options.tol.value_or(EpsilonOf(TypeOf(x)->dtype()));
  const Steps steps(
      [&](Array v) {
        Array made = a(v);
        if (ShapeOf(made) != ShapeOf(v) || TypeOf(made)->dtype() != TypeOf(v)->dtype())
          FailShape(call, 20,
                    fmt::format("a must return an array like {}, but made {}", TypeOf(v)->text(),
                                TypeOf(made)->text()));
        return made;
      },
      tol, call);
  const Operand most(options.maxiter, call.loc), count(ColumnsOf(x), call.loc);
  const LobpcgState end = while_loop(
      [&](LobpcgState s) {
        return bitwise_and(lt(s.k, most, {}, call.loc), lt(s.converged, count, {}, call.loc), {},
                           call.loc);
      },
      [&](LobpcgState s) { return steps.Step(s); }, steps.Start(x), call.loc);
  return {end.eigenvalues, end.x, end.k};
}

}  // namespace

Lobpcg lobpcg_standard(const std::function<Array(Array)>& a, Operand x, LobpcgOptions options,
                       Loc loc) {
  return Largest(a, x, options, {"lobpcg_standard", loc});
}

Lobpcg lobpcg_standard(Operand a, Operand x, LobpcgOptions options, Loc loc) {
  const Call call{"lobpcg_standard", loc};
  const Array matrix = ToSquare(a, call, OwnDims::kSharded);
  return Largest([&](Array v) { return matmul(matrix, v, {}, loc); }, x, options, call);
}

}  // namespace tessera::linalg

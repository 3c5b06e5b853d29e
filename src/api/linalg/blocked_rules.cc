// Any sizes, and implicit derivatives, for the functions of one large matrix. Formulas are those of
// the ops (ops/factorisations.cc, ops/orthogonal.cc), over blocks.
#include "api/linalg/blocked_rules.h"

#include <algorithm>

#include "api/linalg/blocks.h"
#include "api/linalg/linear_solve.h"
#include "tessera/checkpoint.h"
#include "tessera/custom_rules.h"

namespace tessera::api {
namespace {

using Tangents = std::tuple<Array>;

// ---- sizes --------------------------------------------------------------------------------------

// Returns x with zeros after its rows and columns.
Array Padded(const Array& x, int64_t rows, int64_t columns, const MatrixBlocks& b) {
  if (RowsOf(x) == rows && ColumnsOf(x) == columns) return x;
  return pad(b.In(x, TypeOf(x)->sharding(), {rows, columns}),
             {{0, rows - RowsOf(x)}, {0, columns - ColumnsOf(x)}}, b.f().NumberLike(x, 0),
             b.f().loc());
}

// Returns x with ones along the diagonal of the corner after m rows and n columns.
Array WithCorner(const Array& x, int64_t m, int64_t n, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const Loc loc = f.loc();
  const Array row = iota({RowsOf(x), 1}, 0, {.dtype = i32}, loc);
  const Array column = iota({1, ColumnsOf(x)}, 1, {.dtype = i32}, loc);
  const Array is_after = ge(row, Operand(m, loc), {}, loc);
  const Array is_along = eq(f.Sub(row, column), Operand(m - n, loc), {}, loc);
  return f.Where(bitwise_and(is_after, is_along, {}, loc), f.NumberLike(x, 1), x);
}

Array PaddedByIdentity(const Array& x, int64_t rows, int64_t columns, const MatrixBlocks& b) {
  if (RowsOf(x) == rows && ColumnsOf(x) == columns) return x;
  return WithCorner(Padded(x, rows, columns, b), RowsOf(x), ColumnsOf(x), b);
}

// Returns the first rows and columns, in the layout without the axes that do not divide them.
Array Trimmed(const Array& x, int64_t rows, int64_t columns, const sharding::TensorSharding& layout,
              const MatrixBlocks& b) {
  if (RowsOf(x) == rows && ColumnsOf(x) == columns) return x;
  return b.Columns(b.Rows(b.In(x, layout, {rows, columns}), 0, rows), 0, columns);
}

// ---- formulas -----------------------------------------------------------------------------------

// Returns the product by rows, from panels of the right factor, which all devices get in turn and
// which a backward pass gathers once more.
Array Product(const Array& left, const Array& right, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const int64_t k = ColumnsOf(left);
  const Array rows = b.ByRows(left);
  const Array panels = ColumnsOf(right) % b.devices() == 0 ? b.ByColumns(right) : b.ByRows(right);
  const auto multiply =
      checkpoint([b](Array a, Array panel) { return b.f().MatMul(a, b.Whole(panel)); });
  Array sum;
  for (int64_t begin = 0; begin < k;) {
    const int64_t end = begin + b.BlockOf(k - begin, k);
    const Array term = multiply(b.Columns(rows, begin, end), b.Rows(panels, begin, end), f.loc());
    sum = begin == 0 ? term : f.Add(sum, term);
    begin = end;
  }
  return sum;
}

Array AdjointByRows(const Array& x, const MatrixBlocks& b) { return b.ByRows(b.f().Adjoint(x)); }

// Returns the lower triangle with half of its diagonal.
Array HalfLower(const Array& x, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const Array weights = f.Add(f.Identity(x, RowsOf(x)), f.NumberLike(x, 1));
  return f.Div(tril(x, 0, f.loc()), weights);
}

detail::Body BodyOf(std::function<Array(const Array&)> f) {
  return [f = std::move(f)](const Arrays& xs) {
    return detail::FunctionResult::Of(detail::AnyTree::Of(f(xs[0])));
  };
}

// Returns the triangle of `rows` times x.
Array TriangleTimes(const Array& rows, const Array& x, Triangle t, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const int unit = t.unit_diagonal ? 1 : 0;
  Array own = t.lower ? tril(rows, -unit, f.loc()) : triu(rows, unit, f.loc());
  if (t.transposed) own = f.Transposed(own);
  const Array product = Product(own, x, b);
  return t.unit_diagonal ? f.Add(product, x) : product;
}

// Derivatives of the factors of matrices all of whose sizes the devices divide. The factors come
// first, then the tangent of the matrix.

// From l l^H = a follows l^-1 dl + (l^-1 dl)^H = l^-1 da l^-H.
Array CholeskyTangent(const Array& l, const Array& tangent, const MatrixBlocks& b) {
  const Call call = b.f().call();
  const Array half = HalfLower(b.ByRows(tangent), b);
  const Array da = b.f().Add(half, AdjointByRows(half, b));
  const Triangle lower{.lower = true};
  const Array left = BlockedTriangularSolve(l, da, lower, call);
  const Array both = BlockedTriangularSolve(l, AdjointByRows(left, b), lower, call);
  return Product(l, HalfLower(both, b), b);
}

// From l u = a[permutation] follows l^-1 dl + du u^-1 = l^-1 da[permutation] u^-1.
// `k`: the steps that are not those of padding.
Array LuTangent(const linalg::Lu& made, const Array& tangent, int64_t k, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const Call call = f.call();
  const int64_t m = RowsOf(tangent), n = ColumnsOf(tangent), steps = std::min(m, n);
  const Array da = b.RowsInOrder(b.ByColumns(tangent), made.permutation);
  // Both factors are made square with rows and columns of the identity.
  const Array strict = tril(b.ByRows(made.lu), -1, call.loc);
  const Array l = f.Add(Padded(b.Columns(strict, 0, steps), m, m, b), f.Identity(strict, m));
  const Array upper = triu(b.ByRows(made.lu), 0, call.loc);
  const Array u = WithCorner(b.ByRows(Padded(b.Rows(upper, 0, steps), n, n, b)), k, k, b);
  const Array left = BlockedTriangularSolve(l, da, {.lower = true, .unit_diagonal = true}, call);
  const Array turned =
      BlockedTriangularSolve(u, b.ByRows(f.Transposed(left)), {.transposed = true}, call);
  const Array both = b.ByRows(f.Transposed(turned));
  return f.Add(Product(l, tril(both, -1, call.loc), b), Product(triu(both, 0, call.loc), u, b));
}

struct QrFactors {
  Array q, r;
};
// Returns dr r^-1, which is upper triangular with a real diagonal, of q^H da r^-1 and the
// skew-Hermitian part that its lower triangle gives.
Array UpperPart(const Array& projected, const Array& skew, const MatrixFormulas& f) {
  const Array upper = f.Sub(projected, skew);
  if (!TypeOf(upper)->dtype().is_complex()) return upper;
  const Array imaginary = f.Sub(projected, real(projected, f.loc()));
  return f.Sub(upper, f.Mul(f.Identity(upper, RowsOf(upper)), imaginary));
}
// For a with at least as many rows as columns.
QrFactors QrTangents(const QrFactors& made, const Array& da, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const Array turned =
      BlockedTriangularSolve(made.r, f.Transposed(b.ByColumns(da)), {.transposed = true}, f.call());
  const Array w = f.Transposed(turned);  // da r^-1, by columns
  const Array projected = Product(f.Adjoint(made.q), w, b);
  const Array lower = tril(projected, -1, f.loc());
  const Array rest = UpperPart(projected, f.Sub(lower, AdjointByRows(lower, b)), f);
  const Array along = f.Transposed(Product(f.Transposed(rest), f.Transposed(made.q), b));
  return {f.Sub(w, along), Product(rest, made.r, b)};
}

// For a tall a: q is by rows, and all devices have r.
QrFactors TallQrTangents(const QrFactors& made, const Array& da, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const Loc loc = f.loc();
  const Array w = linalg::triangular_solve(made.r, b.ByRows(da), {}, loc);  // da r^-1
  const int64_t p = b.devices(), m = RowsOf(da), n = ColumnsOf(da);
  const auto parts = [&](const Array& x) { return reshape(x, {p, m / p, n}, {}, loc); };
  const Array projected = sum(f.MatMul(f.Adjoint(parts(made.q)), parts(w)), 0, {}, loc);
  const Array lower = tril(projected, -1, loc);
  const Array rest = UpperPart(projected, f.Sub(lower, f.Adjoint(lower)), f);
  return {f.Sub(w, f.MatMul(made.q, rest)), f.MatMul(rest, made.r)};
}

// Returns an array in the layout of another.
Array Like(const Array& x, const Array& like, const MatrixBlocks& b) {
  return b.In(x, TypeOf(like)->sharding(), ShapeOf(like));
}

}  // namespace

Array BlockedCholesky(const Array& a, Call call) {
  const MatrixBlocks b(a, call);
  const int64_t n = RowsOf(a), size = b.Divided(n);
  const auto plain = [call](Array m) { return CholeskyByBlocks(m, call); };
  const auto rule = [b, call](Tangents values, Tangents tangents) {
    const Array l = CholeskyByBlocks(std::get<0>(values), call);
    return std::pair(l, Like(CholeskyTangent(l, std::get<0>(tangents), b), l, b));
  };
  if (n == 0) return a;
  const Array l = custom_jvp(plain, rule, call.loc)(PaddedByIdentity(a, size, size, b), call.loc);
  return Trimmed(l, n, n, TypeOf(a)->sharding(), b);
}

Array BlockedTriangularSolve(const Array& a, const Array& right, Triangle triangle, Call call) {
  const MatrixBlocks b(a, call);
  const int64_t n = RowsOf(a), size = b.Divided(n);
  if (n == 0) return right;
  const Array rows = b.ByRows(PaddedByIdentity(a, size, size, b));
  const auto system = [=](bool transposed) {
    return Triangle{triangle.lower, transposed, triangle.unit_diagonal};
  };
  const auto solve = [=](bool transposed) {
    return BodyOf(
        [=](const Array& r) { return TriangularByBlocks(rows, r, system(transposed), call); });
  };
  const auto matvec = [=](bool transposed) {
    return BodyOf([=](const Array& x) { return TriangleTimes(rows, x, system(transposed), b); });
  };
  const LinearEquation equation{.matvec = matvec(triangle.transposed),
                                .solve = solve(triangle.transposed),
                                .transpose_matvec = matvec(!triangle.transposed),
                                .transpose_solve = solve(!triangle.transposed)};
  const Array side = b.ByRows(Padded(right, size, ColumnsOf(right), b));
  const Array x = SolveEquation(equation, {side}, call).arrays[0];
  return Trimmed(x, n, ColumnsOf(right), TypeOf(right)->sharding(), b);
}

linalg::Lu BlockedLu(const Array& a, Call call) {
  const MatrixBlocks b(a, call);
  const int64_t m = RowsOf(a), n = ColumnsOf(a), k = std::min(m, n);
  if (k == 0) return linalg::lu(b.Whole(a), {}, call.loc);
  using Made = std::tuple<Array, Array, Array>;
  const auto plain = [call](Array x) -> Made {
    const linalg::Lu made = LuByBlocks(x, call);
    return {made.lu, made.pivots, made.permutation};
  };
  const auto rule = [b, call, k](Tangents values, Tangents tangents) {
    const linalg::Lu made = LuByBlocks(std::get<0>(values), call);
    const Array tangent = Like(LuTangent(made, std::get<0>(tangents), k, b), made.lu, b);
    return std::pair(Made{made.lu, made.pivots, made.permutation},
                     Made{tangent, zeros_like(made.pivots, {}, call.loc),
                          zeros_like(made.permutation, {}, call.loc)});
  };
  // A row or column of zeros is never exchanged with another one.
  const Array padded = Padded(a, b.Divided(m), b.Divided(n), b);
  const auto [lu, pivots, permutation] = custom_jvp(plain, rule, call.loc)(padded, call.loc);
  return {Trimmed(lu, m, n, TypeOf(a)->sharding(), b), b.f().Slice(pivots, 1, 0, k),
          b.f().Slice(permutation, 1, 0, m)};
}

Array BlockedSolve(const Array& a, const Array& right, Call call) {
  const MatrixBlocks b(a, call);
  const int64_t n = RowsOf(a), size = b.Divided(n);
  if (n == 0) return right;
  const Array padded = PaddedByIdentity(a, size, size, b), rows = b.ByRows(padded);
  const linalg::Lu lu = LuByBlocks(stop_gradient(padded, call.loc), call);
  const auto solve = [=](bool transposed) {
    return BodyOf([=](const Array& r) { return LuSolveByBlocks(lu, r, transposed, call); });
  };
  const LinearEquation equation{
      .matvec = BodyOf([=](const Array& x) { return Product(rows, x, b); }),
      .solve = solve(false),
      .transpose_matvec =
          BodyOf([=](const Array& x) { return Product(b.f().Transposed(rows), x, b); }),
      .transpose_solve = solve(true)};
  const Array side = b.ByRows(Padded(right, size, ColumnsOf(right), b));
  const Array x = SolveEquation(equation, {side}, call).arrays[0];
  return Trimmed(x, n, ColumnsOf(right), TypeOf(right)->sharding(), b);
}

namespace {

using QrRule = QrFactors (*)(const QrFactors&, const Array&, const MatrixBlocks&);

// Of a with at least as many rows as columns, in sizes that the devices divide.
QrFactors QrWithRule(const Array& a, QrRule tangents_of, const MatrixBlocks& b) {
  const Call call = b.f().call();
  using Made = std::pair<Array, Array>;
  const auto plain = [call](Array x) -> Made {
    const linalg::Qr made = QrByBlocks(x, call);
    return {made.q, made.r};
  };
  const auto rule = [b, call, tangents_of](Tangents values, Tangents tangents) {
    const linalg::Qr made = QrByBlocks(std::get<0>(values), call);
    const QrFactors d = tangents_of({made.q, made.r}, std::get<0>(tangents), b);
    return std::pair(Made{made.q, made.r}, Made{Like(d.q, made.q, b), Like(d.r, made.r, b)});
  };
  const auto [q, r] = custom_jvp(plain, rule, call.loc)(a, call.loc);
  return {q, r};
}

// The first m columns are a square problem, and r = q^H a in the others.
QrFactors WideQr(const Array& a, const MatrixBlocks& b) {
  const int64_t m = RowsOf(a), n = ColumnsOf(a), size = b.Divided(m);
  const Array rows = b.ByRows(Padded(a, size, n, b));
  const Array square = Padded(b.Columns(rows, 0, m), size, size, b);
  const QrFactors made = QrWithRule(WithCorner(square, m, m, b), QrTangents, b);
  const Array rest = Product(b.f().Adjoint(made.q), b.Columns(rows, m, n), b);
  return {made.q, b.Beside({b.Columns(b.ByRows(made.r), 0, m), rest})};
}

}  // namespace

linalg::Qr BlockedQr(const Array& a, Call call) {
  const MatrixBlocks b(a, call);
  const int64_t m = RowsOf(a), n = ColumnsOf(a), k = std::min(m, n);
  if (k == 0) return linalg::qr(b.Whole(a), {}, call.loc);
  const sharding::TensorSharding& layout = TypeOf(a)->sharding();
  if (IsTall(m, n, b.devices())) {
    const QrFactors made = QrWithRule(Padded(a, b.Divided(m), n, b), TallQrTangents, b);
    return {Trimmed(made.q, m, n, layout, b), made.r};
  }
  const int64_t columns = b.Divided(n);
  const QrFactors made =
      m < n ? WideQr(a, b)
            : QrWithRule(PaddedByIdentity(a, m + columns - n, columns, b), QrTangents, b);
  return {Trimmed(made.q, m, k, layout, b), Trimmed(made.r, k, n, layout, b)};
}

}  // namespace tessera::api

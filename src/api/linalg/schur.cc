// Schur forms, square roots of matrices, and Sylvester equations.
#include <fmt/format.h>

#include <limits>

#include "api/core/edits.h"
#include "api/core/option_fields.h"
#include "api/linalg/systems.h"
#include "base/dtype.h"
#include "tessera/control.h"
#include "tessera/linalg.h"
#include "tessera/lookup.h"

namespace tessera::linalg {

using namespace api;

namespace {

Array ToComplex(const Array& a, Call call) {
  return Convert(a, base::ComplexOf(base::PartOf(TypeOf(a)->dtype())), call);
}

std::vector<Array> SchurOf(const Array& a, Call call) {
  return RunAll(ops::kSchur, ir::MakeParams(ops::VectorsParams{true}), {a}, call);
}

// The index i32 of each row [n, 1], and of each column [1, n].
struct Indices {
  Indices(int64_t n, Loc loc)
      : row(iota({n, 1}, 0, {.dtype = i32}, loc)), column(iota({1, n}, 1, {.dtype = i32}, loc)) {}
  Array row, column;
};

// Formulas of loops over the rows or columns of matrices, whose index is an array.
class LoopFormulas : public MatrixFormulas {
 public:
  using MatrixFormulas::MatrixFormulas;
  // Returns the column, or the row, or the element of vectors, with a dim of size 1.
  Array ColumnAt(const Array& x, const Array& k) const {
    return take(x, expand_dims(k, {0}, loc()), -1, {}, loc());
  }
  Array RowAt(const Array& x, const Array& k) const {
    return take(x, expand_dims(k, {0}, loc()), -2, {}, loc());
  }
  Array And(const Array& a, const Array& b) const { return bitwise_and(a, b, {}, loc()); }
  Array Is(const Array& index, const Array& k) const { return eq(index, k, {}, loc()); }
  Array Before(const Array& index, const Array& k) const { return lt(index, k, {}, loc()); }
};

// The Givens rotation [[conj(c), s], [-s, c]] that makes element [k, k - 1] of a form 0.
struct Rotation {
  Array c, s;
};
Rotation RotationOf(const Array& t, const Array& k, const LoopFormulas& f) {
  const Loc loc = f.loc();
  const Array before = f.Sub(k, StrongScalar(1, i32, f.call()));
  const auto at = [&](const Array& row, const Array& column) {
    return f.ColumnAt(f.RowAt(t, row), column);
  };
  const Array a = at(before, before), b = at(before, k), c = at(k, before), d = at(k, k);
  const Array block =
      concatenate({concatenate({a, b}, -1, loc), concatenate({c, d}, -1, loc)}, -2, loc);
  const Array value = f.Column(f.Slice(eigvals(block, loc), 1, 0, 1));
  const Array mu = f.Sub(value, d);
  const auto square = [&](const Array& x) { return real(f.Mul(x, conj(x, loc)), loc); };
  const Array size = sqrt(f.Add(square(mu), square(c)), loc);
  const Array diagonal = f.Add(abs(a, loc), abs(d, loc));
  const Array present = gt(abs(c, loc), f.Scaled(diagonal, EpsilonOf(TypeOf(t)->dtype())), {}, loc);
  return {f.Where(present, f.Div(mu, size), f.NumberLike(t, 1)),
          f.Where(present, f.Div(c, size), f.NumberLike(t, 0))};
}

// Clears the elements below the diagonal, from the last row on.
std::vector<Array> UpperTriangular(const Array& form, const Array& vectors, Call call) {
  const LoopFormulas f(call);
  const Loc loc = call.loc;
  const int64_t n = RowsOf(form);
  if (n < 2) return {form, vectors};
  const Indices at(n, loc);
  const auto step = [=](std::pair<Array, Array> carry, Array k) {
    const auto& [t, z] = carry;
    const Array before = f.Sub(k, StrongScalar(1, i32, call));
    const Rotation g = RotationOf(t, k, f);
    const Array conj_c = conj(g.c, loc), conj_s = conj(g.s, loc);
    // Returns x with two columns, and then two rows, replaced.
    const auto columns = [&](const Array& x) {
      const Array first = f.ColumnAt(x, before), second = f.ColumnAt(x, k);
      const Array new_first = f.Add(f.Mul(first, g.c), f.Mul(second, conj_s));
      const Array new_second = f.Sub(f.Mul(second, conj_c), f.Mul(first, conj_s));
      return f.Where(f.Is(at.column, before), new_first,
                     f.Where(f.Is(at.column, k), new_second, x));
    };
    const Array first = f.RowAt(t, before), second = f.RowAt(t, k);
    const Array new_first = f.Add(f.Mul(conj_c, first), f.Mul(g.s, second));
    const Array new_second = f.Sub(f.Mul(g.c, second), f.Mul(g.s, first));
    const Array rows =
        f.Where(f.Is(at.row, before), new_first, f.Where(f.Is(at.row, k), new_second, t));
    const Array cleared = f.And(f.Is(at.row, k), f.Is(at.column, before));
    const Array next = f.Where(cleared, f.NumberLike(t, 0), columns(rows));
    return std::pair(std::pair(next, columns(z)), None);
  };
  const Array order = flip(arange(1, n, {.dtype = i32}, loc), All, loc);
  const auto [made, none] = scan(step, std::pair(form, vectors), order, {}, loc);
  return {made.first, made.second};
}

}  // namespace

static std::string Code(const SchurOptions& v) {
  return OptionFields().Add("complex", v.complex, false).code();
}
static std::string Code(const SylvesterOptions& v) {
  return OptionFields().Add("tol", v.tol, SylvesterOptions().tol).code();
}

Schur schur(Operand a, SchurOptions options, Loc loc) {
  const Call call{"schur", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    const Array m = ToSquare(x, call);
    return SchurOf(options.complex ? ToComplex(m, call) : m, call);
  });
  return {made[0], made[1]};
}

Schur rsf2csf(Schur form, Loc loc) {
  const Call call{"rsf2csf", loc};
  const Operand upper(form.t, loc), unitary(form.z, loc);
  const auto turned = [&](const Operand& x, const Operand& y) {
    const DType dtype = base::ComplexOf(base::PartOf(FloatOf(PromotedDType({x, y}, call))));
    const Array t = Convert(ToSquare(x, call), dtype, call),
                z = Convert(ToSquare(y, call), dtype, call);
    if (ShapeOf(t) != ShapeOf(z))
      FailShape(call, 13,
                fmt::format("t and z differ: {} and {}", TypeOf(t)->text(), TypeOf(z)->text()));
    return UpperTriangular(t, z, call);
  };
  std::vector<Array> made = AsOne(call, {{"t", upper}, {"z", unitary}}, turned,
                                  {.code = [] { return "rsf2csf({t, z})"; }});
  return {made[0], made[1]};
}

namespace {

// The square root of an upper triangular matrix, column by column: with u_jj the root of t_jj,
// (u + u_jj) u_j = t_j for the rows before j (Bjorck and Hammarling, A Schur method for the square
// root of a matrix, 1983).
Array TriangularRoot(const Array& t, const LoopFormulas& f) {
  const Loc loc = f.loc();
  const int64_t n = RowsOf(t);
  const Indices at(n, loc);
  const Array roots = sqrt(f.Diagonal(t), loc), zero = f.NumberLike(t, 0), one = f.NumberLike(t, 1);
  const Array on_diagonal = f.Is(at.row, at.column);
  const auto step = [=](Array u, Array j) {
    const Array before = f.Before(at.row, j);
    const Array sums = f.Add(f.Column(roots), f.Column(f.ColumnAt(roots, j)));
    // Two roots that are 0 leave 0, or nothing.
    const Array singular = f.And(before, eq(sums, zero, {}, loc));
    const Array regular = bitwise_and(before, ne(sums, zero, {}, loc), {}, loc);
    const Array diagonal = f.Where(regular, sums, one);
    const Array above = f.Where(f.And(before, f.Before(at.column, j)), u, zero);
    const Array matrix = f.Where(on_diagonal, diagonal, above);
    const Array side = f.Where(before, f.ColumnAt(t, j), zero);
    const Array x = triangular_solve(matrix, side, {.left_side = true}, loc);
    const Array none = f.And(singular, ne(x, zero, {}, loc));
    const Array column =
        f.Where(none, f.NumberLike(t, std::numeric_limits<double>::quiet_NaN()), x);
    return std::pair(f.Where(f.And(f.Is(at.column, j), before), column, u), None);
  };
  const Array start = f.Where(on_diagonal, f.Column(roots), zero);
  return scan(step, start, arange(n, {.dtype = i32}, loc), {}, loc).first;
}

// Solves r y + y l = c for upper triangular r and lower triangular l, from the last column on.
Array SolveTriangularSylvester(const Array& r, const Array& l, const Array& c,
                               const LoopFormulas& f) {
  const Loc loc = f.loc();
  const int64_t m = RowsOf(r), n = RowsOf(l);
  const Indices rows(m, loc), columns(n, loc);
  const Array zero = f.NumberLike(c, 0), on_diagonal = f.Is(rows.row, rows.column);
  const auto step = [=](Array y, Array j) {
    const Array column = f.ColumnAt(l, j);
    const Array later = f.Where(f.Before(j, columns.row), column, zero);
    const Array side = f.Sub(f.ColumnAt(c, j), f.MatMul(y, later));
    const Array shift = f.Where(on_diagonal, f.RowAt(column, j), zero);
    const Array x = triangular_solve(f.Add(r, shift), side, {.left_side = true}, loc);
    return std::pair(f.Where(f.Is(columns.column, j), x, y), None);
  };
  const Array order = flip(arange(n, {.dtype = i32}, loc), All, loc);
  return scan(step, zeros_like(c, {}, loc), order, {}, loc).first;
}

}  // namespace

Array sqrtm(Operand a, Loc loc) {
  const Call call{"sqrtm", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    const LoopFormulas f(call);
    const Array m = ToComplex(ToSquare(x, call), call);
    if (TypeOf(m)->elements() == 0) return m;
    const std::vector<Array> tz = SchurOf(m, call);
    return f.MatMul(f.MatMul(tz[1], TriangularRoot(tz[0], f)), f.Adjoint(tz[1]));
  });
}

Array solve_sylvester(Operand a, Operand b, Operand c, SylvesterOptions options, Loc loc) {
  const Call call{"solve_sylvester", loc};
  const Arguments arguments{{"a", a}, {"b", b}, {"c", c}, options};
  return AsOne(call, arguments, [&](const Operand& x, const Operand& y, const Operand& z) {
    const LoopFormulas f(call);
    const DType t = FloatOf(PromotedDType({x, y, z}, call));
    const auto given = [&](const Operand& o) { return Convert(ToArray(o, call), t, call); };
    Array left = ToSquare(given(x), call), right = ToSquare(given(y), call);
    Array side = ToMatrices(given(z), call);
    const int64_t m = RowsOf(left), n = RowsOf(right);
    if (RowsOf(side) != m || ColumnsOf(side) != n)
      FailShape(call, 13,
                fmt::format("c must be {} x {}, not {} x {}", m, n, RowsOf(side), ColumnsOf(side)));
    JointBatch(left, right, call);
    const base::Shape batch =
        JointBatch(f.WithBatch(side, JointBatch(side, left, call), 2), right, call);
    left = f.WithBatch(left, batch, 2);
    right = f.WithBatch(right, batch, 2);
    side = f.WithBatch(side, batch, 2);
    if (TypeOf(side)->elements() == 0) return side;
    const std::vector<Array> ru = SchurOf(ToComplex(left, call), call),
                             sv = SchurOf(ToComplex(f.Adjoint(right), call), call);
    const Array &u = ru[1], &v = sv[1], lower = f.Adjoint(sv[0]);
    const Array turned = f.MatMul(f.Adjoint(u), f.MatMul(ToComplex(side, call), v));
    const Array solved = SolveTriangularSylvester(ru[0], lower, turned, f);
    Array solution = f.MatMul(f.MatMul(u, solved), f.Adjoint(v));
    if (!t.is_complex()) solution = real(solution, loc);
    const Array sums = f.Add(f.Column(f.Diagonal(ru[0])), f.Row(f.Diagonal(lower)));
    const Array close = lt(abs(sums, loc), Operand(options.tol, loc), {}, loc);
    return f.Where(any(close, {-2, -1}, {.keepdims = true}, loc),
                   f.NumberLike(solution, std::numeric_limits<double>::quiet_NaN()), solution);
  });
}

namespace {

// f of an upper triangular matrix, one diagonal above the other: f t = t f gives the elements [i,
// j] of the diagonal j = i + p from those nearer to the main diagonal.
Array TriangularFunction(const Array& t, const Array& values, const LoopFormulas& f) {
  const Loc loc = f.loc();
  const int64_t n = RowsOf(t);
  const Indices at(n, loc);
  const Array start = f.Where(eq(at.row, at.column, {}, loc), f.Column(values), f.NumberLike(t, 0));
  const Array diagonal = f.Column(f.Diagonal(t)), turned = f.Transposed(t);
  const auto step = [=](Array made, Array p) {
    // Row i of x becomes row i + p.
    const Array place = add(squeeze(at.row, 1, loc), p, {}, loc);
    const Array inside = minimum(place, Operand(n - 1, loc), {}, loc);
    const auto moved = [&](const Array& x) { return take(x, inside, -2, {}, loc); };
    const auto sums = [&](const Array& x, const Array& y) {
      return sum(f.Mul(x, moved(y)), -1, {.keepdims = true}, loc);
    };
    const Array total = f.Sub(sums(t, f.Transposed(made)), sums(made, turned));
    const Array gap = f.Sub(moved(diagonal), diagonal);
    const Array is_apart = ne(gap, Operand(0, loc), {}, loc);
    const Array quotient =
        f.Where(is_apart, f.Div(total, f.Where(is_apart, gap, f.NumberLike(t, 1))), total);
    const Array is_here = eq(at.column, add(at.row, p, {}, loc), {}, loc);
    return std::pair(f.Where(is_here, quotient, made), None);
  };
  const auto [made, none] =
      scan(step, start, arange(1, std::max<int64_t>(n, 1), {.dtype = i32}, loc), {}, loc);
  return made;
}

}  // namespace

Array funm(Operand a, const std::function<Array(Array)>& function, Loc loc) {
  const Call call{"funm", loc};
  return AsOne(call, {a, Argument::Value("function")}, [&](const Operand& x) {
    const LoopFormulas f(call);
    const Array m = ToComplex(ToSquare(x, call), call);
    if (TypeOf(m)->elements() == 0) return m;
    const std::vector<Array> form = SchurOf(m, call);
    const Array values = Convert(function(f.Diagonal(form[0])), TypeOf(m)->dtype(), call);
    if (ShapeOf(values) != BatchOf(m, 1))
      FailShape(call, 18,
                fmt::format("the function maps eigenvalues of shape {} to {}",
                            ir::FieldText(BatchOf(m, 1)), ir::FieldText(ShapeOf(values))));
    const Array made = TriangularFunction(form[0], values, f);
    return f.MatMul(f.MatMul(form[1], made), f.Adjoint(form[1]));
  });
}

}  // namespace tessera::linalg

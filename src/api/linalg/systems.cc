// Cholesky and LU factorisation, and systems of linear equations.
#include "api/linalg/systems.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/core/edits.h"
#include "api/core/option_fields.h"
#include "api/linalg/blocked_rules.h"
#include "api/linalg/linear_solve.h"
#include "ops/check.h"
#include "tessera/control.h"
#include "tessera/custom_rules.h"
#include "tessera/lookup.h"

namespace tessera {

using namespace api;

namespace api {

Array SolveFactored(const linalg::Lu& lu, Array b, System system, const MatrixFormulas& f) {
  const auto solve = [&](const Array& right, bool lower) {
    return linalg::triangular_solve(lu.lu, right,
                                    {.left_side = true,
                                     .lower = lower,
                                     .transpose_a = system.transposed,
                                     .conjugate_a = system.conjugated,
                                     .unit_diagonal = lower},
                                    f.loc());
  };
  if (!system.transposed) return solve(solve(f.PermutedRows(b, lu.permutation), true), false);
  const Array inverse = argsort(lu.permutation, -1, {}, f.loc());
  return f.PermutedRows(solve(solve(b, false), true), inverse);
}

Array SolveSystem(const Array& a, const Array& b, const MatrixFormulas& f) {
  const linalg::Lu lu = linalg::lu(stop_gradient(a, f.loc()), {}, f.loc());
  using detail::FunctionResult;
  const auto body = [](auto function) {
    return detail::Body([function](const Arrays& xs) {
      return FunctionResult::Of(detail::AnyTree::Of(function(xs[0])));
    });
  };
  const LinearEquation equation{
      .matvec = body([=](const Array& x) { return f.MatMul(a, x); }),
      .solve = body([=](const Array& r) { return SolveFactored(lu, r, {}, f); }),
      .transpose_matvec = body([=](const Array& x) { return f.MatMul(f.Transposed(a), x); }),
      .transpose_solve =
          body([=](const Array& r) { return SolveFactored(lu, r, {.transposed = true}, f); })};
  return SolveEquation(equation, {b}, f.call()).arrays[0];
}

namespace {

// Returns x with the axes of the other array's batch dims where its own have none.
Array WithBatchAxesOf(const Array& other, const Array& x, Call call) {
  const sharding::TensorSharding& from = TypeOf(other)->sharding();
  sharding::TensorSharding to = TypeOf(x)->sharding();
  if (!to.mesh) to.mesh = from.mesh;
  const auto is_used = [&](sharding::AxisPart axis) {
    return sharding::OverlapsAny(to.unreduced, axis) || sharding::OverlapsAny(to.reduced, axis) ||
           std::any_of(to.dims.begin(), to.dims.end(), [&](const sharding::DimAxes& dim) {
             return sharding::OverlapsAny(dim.axes, axis);
           });
  };
  for (size_t d = 0; d + 2 < to.dims.size(); ++d)
    if (to.dims[d].axes.empty() &&
        std::none_of(from.dims[d].axes.begin(), from.dims[d].axes.end(), is_used))
      to.dims[d].axes = from.dims[d].axes;
  return TypeOf(x)->sharding() == to ? x : Moved(x, std::move(to), call);
}

}  // namespace

Array WithRightSide(const Array& a, const Operand& operand, int64_t rows, Call call,
                    absl::FunctionRef<Array(const Array& a, const Array& b)> solve) {
  const MatrixFormulas f(call);
  Array b = ToFloat(operand, call);
  const bool is_vector = Rank(b) == 1;
  if (Rank(b) == 0) FailShape(call, 13, "b must have rank 1 or more, not 0");
  if (is_vector) b = f.Column(b);
  if (RowsOf(b) != rows)
    FailShape(call, 13, fmt::format("a has {} rows, but b has {}", rows, RowsOf(b)));
  const base::Shape batch = JointBatch(a, b, call);
  const Array matrix = f.WithBatch(a, batch, 2), right = f.WithBatch(b, batch, 2);
  const Array x = solve(WithBatchAxesOf(right, matrix, call), WithBatchAxesOf(matrix, right, call));
  return is_vector ? squeeze(x, {-1}, call.loc) : x;
}

}  // namespace api

namespace linalg {
namespace {

Array Symmetrized(const Array& a, const MatrixFormulas& f) {
  Array adjoint = f.Adjoint(a);
  if (IsShardedMatrix(a)) adjoint = Moved(adjoint, TypeOf(a)->sharding(), f.call());
  return f.Scaled(f.Add(a, adjoint), 0.5);
}

Array ReshardTo(const Array& x, const std::optional<PartitionSpec>& spec, Call call) {
  return spec ? reshard(x, *spec, call.loc) : x;
}

// Solves with a matrix that is sharded over its own dims. x op(a) = b is op(a)^T x^T = b^T.
Array SolveSharded(const Array& a, const Array& b, const TriangularSolveOptions& options,
                   Call call) {
  const MatrixFormulas f(call);
  if (TypeOf(b)->shape().size() != 2 || (options.left_side ? RowsOf(b) : ColumnsOf(b)) != RowsOf(a))
    FailShape(call, 20, fmt::format("{} and {} do not fit", TypeOf(a)->text(), TypeOf(b)->text()));
  const bool transpose = options.transpose_a == options.left_side;
  const Array x = BlockedTriangularSolve(options.conjugate_a ? conj(a, call.loc) : a,
                                         options.left_side ? b : f.Transposed(b),
                                         {options.lower, transpose, options.unit_diagonal}, call);
  return options.left_side ? x : f.Transposed(x);
}

Array CholeskyOf(const Operand& operand, const CholeskyOptions& options, Call call) {
  const MatrixFormulas f(call);
  Array a = ToSquare(operand, call, OwnDims::kSharded);
  const bool blocked = options.out_sharding && IsShardedMatrix(a);
  if (options.symmetrize_input && (blocked || !IsShardedMatrix(a))) a = Symmetrized(a, f);
  const Array l = blocked ? BlockedCholesky(a, call) : Run(ops::kCholesky, nullptr, {a}, call);
  return ReshardTo(options.upper ? f.Adjoint(l) : l, options.out_sharding, call);
}

// Promotes the operands of a function of two matrices to one floating dtype.
std::pair<Array, Array> PromotedPair(const Operand& a, const Operand& b, Call call) {
  const DType t = FloatOf(PromotedDType({a, b}, call));
  return {Convert(ToArray(a, call), t, call), Convert(ToArray(b, call), t, call)};
}

}  // namespace

Array cholesky(Operand a, CholeskyOptions options, Loc loc) {
  const Call call{"cholesky", loc};
  return AsOne(call, {a, options}, [&](const Operand& x) { return CholeskyOf(x, options, call); });
}

Array cholesky_update(Operand r, Operand w, Loc loc) {
  const Call call{"cholesky_update", loc};
  return AsOne(call, {r, w}, [&](const Operand& x, const Operand& y) {
    const MatrixFormulas f(call);
    const auto [matrix, vector] = PromotedPair(x, y, call);
    const Array square = ToSquare(matrix, call);
    if (Rank(vector) == 0 || ShapeOf(vector).back() != RowsOf(square))
      FailShape(call, 13,
                fmt::format("w must have {} elements along its last dim, not the shape {}",
                            RowsOf(square), ops::ShapeText(ShapeOf(vector))));
    // With the row w^H below it, r has the same factor as q^H times that.
    const Array row = f.Row(conj(vector, loc));
    const base::Shape batch = JointBatch(square, row, call);
    const Array stacked =
        concatenate({f.WithBatch(square, batch, 2), f.WithBatch(row, batch, 2)}, -2, loc);
    const Array made = qr(stacked, {}, loc).r;
    const Array diag = real(f.Diagonal(made), loc), one = f.NumberLike(diag, 1);
    const Array negative = lt(diag, f.NumberLike(diag, 0), {}, loc);
    return f.Mul(f.Column(f.Where(negative, neg(one, loc), one)), made);
  });
}

static std::string Code(const ChoFactorOptions& v) {
  return OptionFields().Add("lower", v.lower, false).code();
}
static std::string Code(const SolveTriangularOptions& v) {
  return OptionFields()
      .Add("lower", v.lower, false)
      .Add("transposed", v.transposed, false)
      .Add("conjugated", v.conjugated, false)
      .Add("unit_diagonal", v.unit_diagonal, false)
      .Add(v.out_sharding)
      .code();
}
static std::string Code(const LuSolveOptions& v) {
  return OptionFields()
      .Add("transposed", v.transposed, false)
      .Add("conjugated", v.conjugated, false)
      .code();
}

ChoFactor cho_factor(Operand a, ChoFactorOptions options, Loc loc) {
  const Call call{"cho_factor", loc};
  return {AsOne(call, {a, options},
                [&](const Operand& x) { return CholeskyOf(x, {.upper = !options.lower}, call); }),
          options.lower};
}

Array cho_solve(ChoFactor factor, Operand b, Loc loc) {
  const Call call{"cho_solve", loc};
  const Operand given(factor.c, loc);
  const auto code = [&] { return fmt::format("cho_solve({{c, {}}}, b)", factor.lower); };
  const auto solved = [&](const Operand& c, const Operand& right) {
    const auto [a, y] = PromotedPair(c, right, call);
    const Array square = ToSquare(a, call);
    return WithRightSide(square, y, RowsOf(square), call, [&](const Array& m, const Array& r) {
      const auto solve = [&](const Array& side, bool transpose) {
        return triangular_solve(m, side,
                                {.left_side = true,
                                 .lower = factor.lower,
                                 .transpose_a = transpose,
                                 .conjugate_a = transpose},
                                loc);
      };
      return solve(solve(r, !factor.lower), factor.lower);
    });
  };
  return AsOne(call, {{"c", given}, {"b", b}}, solved, {.code = code});
}

Array triangular_solve(Operand a, Operand b, TriangularSolveOptions options, Loc loc) {
  const Call call{"triangular_solve", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& x, const Operand& y) {
    const ops::TriangularSolveParams params{options.left_side, options.lower, options.transpose_a,
                                            options.conjugate_a, options.unit_diagonal};
    const Array m = ToArray(x, call), right = ToArray(y, call);
    const Array solved =
        options.out_sharding && IsShardedMatrix(m)
            ? SolveSharded(ToSquare(m, call, OwnDims::kSharded), right, options, call)
            : Run(ops::kTriangularSolve, ir::MakeParams(params), {m, right}, call);
    return ReshardTo(solved, options.out_sharding, call);
  });
}

Array solve_triangular(Operand a, Operand b, SolveTriangularOptions options, Loc loc) {
  const Call call{"solve_triangular", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& x, const Operand& y) {
    const auto [matrix, right] = PromotedPair(x, y, call);
    const Array square = ToSquare(matrix, call, OwnDims::kSharded);
    const TriangularSolveOptions from_left{.left_side = true,
                                           .lower = options.lower,
                                           .transpose_a = options.transposed,
                                           .conjugate_a = options.conjugated,
                                           .unit_diagonal = options.unit_diagonal};
    const bool blocked = options.out_sharding && IsShardedMatrix(square);
    const Array solved =
        WithRightSide(square, right, RowsOf(square), call, [&](const Array& m, const Array& r) {
          return blocked ? SolveSharded(m, r, from_left, call)
                         : triangular_solve(m, r, from_left, loc);
        });
    return ReshardTo(solved, options.out_sharding, call);
  });
}

Lu lu(Operand a, LuOptions options, Loc loc) {
  const Call call{"lu", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    const Array m = ToMatrices(x, call, OwnDims::kSharded);
    if (!options.out_sharding || !IsShardedMatrix(m)) {
      std::vector<Array> plain = RunAll(ops::kLu, nullptr, {m}, call);
      plain[0] = ReshardTo(plain[0], options.out_sharding, call);
      return plain;
    }
    const Lu blocked = BlockedLu(m, call);
    return std::vector<Array>{ReshardTo(blocked.lu, options.out_sharding, call), blocked.pivots,
                              blocked.permutation};
  });
  return {made[0], made[1], made[2]};
}

Array lu_pivots_to_permutation(Operand pivots, int64_t n, Loc loc) {
  const Call call{"lu_pivots_to_permutation", loc};
  return AsOne(call, {pivots, n}, [&](const Operand& operand) {
    const MatrixFormulas f(call);
    const Array p = ToArray(operand, call);
    if (!TypeOf(p)->dtype().is_integer())
      FailDType(call, 15,
                fmt::format("pivots must be integers, not {}", TypeOf(p)->dtype().name()));
    if (Rank(p) == 0 || ShapeOf(p).back() > n)
      FailShape(call, 14,
                fmt::format("pivots [..., k] need k <= {}, not the shape {}", n,
                            ops::ShapeText(ShapeOf(p))));
    // The zeros have the layout of the batch dims of p.
    const Array zeros = reduce_sum(zeros_like(p, {.dtype = i32}, loc), {-1}, {}, loc);
    const Array index = f.Add(f.Column(zeros), iota({n}, 0, {.dtype = i32}, loc));
    // Exchanges the entries at i and at the pivot.
    return fori_loop(
        0, ShapeOf(p).back(),
        [=](Array i, Array permutation) {
          const Array at = convert_element_type(i, i32, loc);
          const Array pivot = f.Column(f.Entry(take(Array(convert_element_type(p, i32, loc)),
                                                    expand_dims(at, {0}, loc), -1, {}, loc),
                                               0));
          const Array indices = BroadcastTo(pivot, ShapeOf(pivot), call);
          const Array there = take_along_dim(permutation, indices, -1, {}, loc);
          const Array here = take(permutation, expand_dims(at, {0}, loc), -1, {}, loc);
          const Array first = f.Where(eq(index, at, {}, loc), there, permutation);
          return f.Where(eq(index, pivot, {}, loc), here, first);
        },
        index, {}, loc);
  });
}

LuFactor lu_factor(Operand a, Loc loc) {
  const Call call{"lu_factor", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    const Lu factors = lu(ToSquare(x, call), {}, loc);
    return std::vector<Array>{factors.lu, factors.pivots};
  });
  return {made[0], made[1]};
}

Array lu_solve(LuFactor factor, Operand b, LuSolveOptions options, Loc loc) {
  const Call call{"lu_solve", loc};
  const Operand made(factor.lu, loc), moved(factor.pivots, loc);
  const Arguments arguments{{"lu", made}, {"pivots", moved}, {"b", b}, options};
  const auto code = [&] {
    const std::string rest = Code(options);
    return fmt::format("lu_solve({{lu, pivots}}, b{}{})", rest.empty() ? "" : ", ", rest);
  };
  const auto solved = [&](const Operand& x, const Operand& pivots, const Operand& right) {
    const MatrixFormulas f(call);
    const auto [matrix, y] = PromotedPair(x, right, call);
    const Array square = ToSquare(matrix, call);
    const int64_t n = RowsOf(square);
    const Array permutation = lu_pivots_to_permutation(pivots, n, loc);
    return WithRightSide(square, y, n, call, [&](const Array& m, const Array& r) {
      const Lu factors{m, ToArray(pivots, call), f.WithBatch(permutation, BatchOf(m), 1)};
      return SolveFactored(factors, r, {options.transposed, options.conjugated}, f);
    });
  };
  return AsOne(call, arguments, solved, {.code = code});
}

Array solve(Operand a, Operand b, SolveOptions options, Loc loc) {
  const Call call{"solve", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& x, const Operand& y) {
    const auto [matrix, right] = PromotedPair(x, y, call);
    const Array square = ToSquare(matrix, call, OwnDims::kSharded);
    const bool blocked = options.out_sharding && IsShardedMatrix(square);
    const Array solved =
        WithRightSide(square, right, RowsOf(square), call, [&](const Array& m, const Array& r) {
          return blocked ? BlockedSolve(m, r, call) : SolveSystem(m, r, MatrixFormulas(call));
        });
    return ReshardTo(solved, options.out_sharding, call);
  });
}

Array inv(Operand a, Loc loc) {
  const Call call{"inv", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const Array m = ToSquare(x, call);
    // The sum has the layout of a's batch dims.
    const Array identity = f.Add(zeros_like(m, {}, loc), f.Identity(m, RowsOf(m)));
    return SolveSystem(m, identity, f);
  });
}

namespace {

// Returns the sign of the permutation of an LU factorisation: 1 or -1, in the dtype of u.
Array PermutationSign(const Lu& factors, const MatrixFormulas& f) {
  const Array index = iota({ShapeOf(factors.pivots).back()}, 0, {.dtype = i32}, f.loc());
  const Array moved = convert_element_type(ne(factors.pivots, index, {}, f.loc()), i32, f.loc());
  const Array odd =
      bitwise_and(reduce_sum(moved, {-1}, {}, f.loc()), Operand(1, f.loc()), {}, f.loc());
  const Array sign = convert_element_type(odd, TypeOf(factors.lu)->dtype(), f.loc());
  return f.Sub(f.NumberLike(sign, 1), f.Scaled(sign, 2));
}

std::pair<Array, Array> SignAndLog(const Array& a, const MatrixFormulas& f) {
  const Lu factors = lu(a, {}, f.loc());
  const Array diag = f.Diagonal(factors.lu), zero = f.NumberLike(diag, 0);
  const Array singular = any(eq(diag, zero, {}, f.loc()), {-1}, {}, f.loc());
  const Array signs = reduce_prod(sign(diag, f.loc()), {-1}, {}, f.loc());
  const Array total = reduce_sum(log(abs(diag, f.loc()), f.loc()), {-1}, {}, f.loc());
  return {f.Where(singular, zero, f.Mul(PermutationSign(factors, f), signs)),
          f.Where(singular, f.NumberLike(total, -std::numeric_limits<double>::infinity()), total)};
}

// The determinant, and the trace of adj(a) g, which is its tangent. With l u = a[permutation] and
// the product d of u's diagonal but its last element, adj(a) is computed without a division by that
// element, so that matrices of rank n - 1 have a derivative.
std::pair<Array, Array> DetAndTangent(const Array& a, const Array& g, const MatrixFormulas& f) {
  const Loc loc = f.loc();
  const int64_t n = RowsOf(a);
  if (n == 1) return {f.Trace(a), f.Trace(g)};
  const Lu factors = lu(a, {}, loc);
  const Array signs = f.Column(PermutationSign(factors, f));
  const Array products = f.Mul(cumprod(f.Diagonal(factors.lu), -1, {}, loc), signs);
  const Array det = f.Entry(products, n - 1), but_last = f.Entry(products, n - 2);
  const Array index = iota({n, n}, 0, {.dtype = i32}, loc);
  const Array corner = bitwise_and(eq(index, Operand(n - 1, loc), {}, loc),
                                   eq(f.Transposed(index), Operand(n - 1, loc), {}, loc), {}, loc);
  const Array inverse = f.Div(f.NumberLike(a, 1), but_last);
  const Array changed = f.Where(corner, f.Column(f.Column(inverse)), factors.lu);
  // Where u without its last row and column is singular, the tangent is 0.
  const Array ones = f.Column(full_like(f.Diagonal(a), f.NumberLike(a, 1), {}, loc));
  const Array probe = triangular_solve(changed, ones, {.left_side = true}, loc);
  const Array regular = f.Column(f.Column(all(isfinite(probe, loc), {-2, -1}, {}, loc)));
  const Array zero = f.NumberLike(a, 0);
  Array x = f.PermutedRows(f.Where(regular, g, zero), factors.permutation);
  x = triangular_solve(changed, x, {.left_side = true, .lower = true, .unit_diagonal = true}, loc);
  const Array last = eq(iota({n, 1}, 0, {.dtype = i32}, loc), Operand(n - 1, loc), {}, loc);
  x = f.Where(last, x, f.Mul(x, f.Column(f.Column(det))));
  x = triangular_solve(changed, x, {.left_side = true}, loc);
  return {det, f.Trace(f.Where(regular, x, zero))};
}

// The products of the elements i0 of row 0, i1 of row 1 ...
Array ProductOf(const Array& a, std::initializer_list<int64_t> columns, const MatrixFormulas& f) {
  Array product;
  int64_t row = 0;
  for (int64_t column : columns) {
    const Array element = f.Entry(f.Entry(f.Transposed(f.Slice(a, 2, row, row + 1)), 0), column);
    product = row++ == 0 ? element : f.Mul(product, element);
  }
  return product;
}

Array DetOf(const Array& a, const MatrixFormulas& f) {
  const int64_t n = RowsOf(a);
  if (n == 0)
    return full_like(reduce_sum(a, {-2, -1}, {}, f.loc()), f.NumberLike(a, 1), {}, f.loc());
  if (n == 1) return ProductOf(a, {0}, f);
  if (n == 2) return f.Sub(ProductOf(a, {0, 1}, f), ProductOf(a, {1, 0}, f));
  if (n == 3)
    return f.Sub(f.Add(f.Add(ProductOf(a, {0, 1, 2}, f), ProductOf(a, {1, 2, 0}, f)),
                       ProductOf(a, {2, 0, 1}, f)),
                 f.Add(f.Add(ProductOf(a, {2, 1, 0}, f), ProductOf(a, {0, 2, 1}, f)),
                       ProductOf(a, {1, 0, 2}, f)));
  const auto plain = [f](Array m) {
    const Lu factors = lu(m, {}, f.loc());
    return f.Mul(PermutationSign(factors, f),
                 reduce_prod(f.Diagonal(factors.lu), {-1}, {}, f.loc()));
  };
  return custom_jvp(plain, [f](auto values, auto tangents) {
    return DetAndTangent(std::get<0>(values), std::get<0>(tangents), f);
  })(a, f.loc());
}

}  // namespace

Array det(Operand a, Loc loc) {
  const Call call{"det", loc};
  return AsOne(call, {a},
               [&](const Operand& x) { return DetOf(ToSquare(x, call), MatrixFormulas(call)); });
}

Slogdet slogdet(Operand a, Loc loc) {
  const Call call{"slogdet", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const auto plain = [f](Array m) { return SignAndLog(m, f); };
    const auto rule = [f](auto values, auto tangents) {
      const auto& [m] = values;
      const auto& [g] = tangents;
      const std::pair<Array, Array> both = SignAndLog(m, f);
      // The logarithm of the determinant is log + i angle, and the sign is e^(i angle).
      const Array moved = f.Trace(SolveSystem(m, g, f)), log = real(moved, f.loc());
      const Array turned = TypeOf(moved)->dtype().is_complex()
                               ? f.Mul(f.Sub(moved, log), both.first)
                               : zeros_like(both.first, {}, f.loc());
      return std::pair(both, std::pair(turned, log));
    };
    const auto [sign, log] = custom_jvp(plain, rule)(ToSquare(x, call), loc);
    return std::vector<Array>{sign, log};
  });
  return {made[0], made[1]};
}

}  // namespace linalg
}  // namespace tessera

// QR factorisation, eigenvalues and singular values, and functions of them.
#include <fmt/format.h>

#include "api/core/edits.h"
#include "api/core/option_fields.h"
#include "api/linalg/blocked_rules.h"
#include "api/linalg/systems.h"
#include "ops/check.h"
#include "tessera/custom_rules.h"
#include "tessera/linalg.h"

namespace tessera::linalg {

using namespace api;

Qr qr(Operand a, QrOptions options, Loc loc) {
  const Call call{"qr", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    const Array m = ToMatrices(x, call, OwnDims::kSharded);
    std::vector<Array> qr;
    if (options.out_sharding && IsShardedMatrix(m) && !options.full_matrices) {
      const Qr blocked = BlockedQr(m, call);
      qr = {blocked.q, blocked.r};
    } else {
      qr = RunAll(ops::kQr, ir::MakeParams(ops::QrParams{options.full_matrices}), {m}, call);
    }
    if (options.out_sharding) qr[0] = reshard(qr[0], *options.out_sharding, loc);
    return qr;
  });
  return {made[0], made[1]};
}

static std::string Code(const PivotedQrOptions& v) {
  return OptionFields().Add("full_matrices", v.full_matrices, false).code();
}
static std::string Code(const EighOptions& v) {
  return OptionFields()
      .Add("upper", v.upper, false)
      .Add("symmetrize_input", v.symmetrize_input, true)
      .code();
}
static std::string Code(const SvdOptions& v) {
  return OptionFields().Add("full_matrices", v.full_matrices, true).code();
}
static std::string Code(const LstsqOptions& v) {
  return OptionFields().Add("rcond", v.rcond).code();
}
static std::string Code(const RankOptions& v) {
  return OptionFields().Add("rtol", v.rtol).Add("hermitian", v.hermitian, false).code();
}
static std::string Code(const TridiagonalOptions& v) {
  return OptionFields().Add("lower", v.lower, true).code();
}
static std::string Code(const PolarOptions& v) {
  return OptionFields().Add("left", v.left, false).code();
}

PivotedQr pivoted_qr(Operand a, PivotedQrOptions options, Loc loc) {
  const Call call{"pivoted_qr", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    return RunAll(ops::kQr, ir::MakeParams(ops::QrParams{options.full_matrices, true}),
                  {ToMatrices(x, call)}, call);
  });
  return {made[0], made[1], made[2]};
}

static std::string Code(QrSide v) {
  return v == QrSide::kLeft ? "linalg::QrSide::kLeft" : "linalg::QrSide::kRight";
}
static std::string Code(const QrMultiplyOptions& v) {
  return OptionFields()
      .Add("mode", v.mode, QrSide::kRight)
      .Add("pivoting", v.pivoting, false)
      .Add("conjugate", v.conjugate, false)
      .code();
}

QrMultiplied qr_multiply(Operand a, Operand c, QrMultiplyOptions options, Loc loc) {
  const Call call{"qr_multiply", loc};
  const auto multiply = [&](const Operand& matrix, const Operand& other) {
    const MatrixFormulas f(call);
    const DType t = FloatOf(PromotedDType({matrix, other}, call));
    const Array m = ToMatrices(Convert(ToArray(matrix, call), t, call), call);
    const Array given = Convert(ToArray(other, call), t, call);
    const bool is_left = options.mode == QrSide::kLeft, is_vector = Rank(given) == 1;
    const Array x = ToMatrices(!is_vector ? given : is_left ? f.Column(given) : f.Row(given), call);
    const int64_t wanted = is_left ? std::min(RowsOf(m), ColumnsOf(m)) : RowsOf(m);
    if ((is_left ? RowsOf(x) : ColumnsOf(x)) != wanted)
      FailShape(call, 13,
                fmt::format("c has {} {}, not {} as q has {}", is_left ? RowsOf(x) : ColumnsOf(x),
                            is_left ? "rows" : "columns", wanted, is_left ? "columns" : "rows"));
    std::vector<Array> made =
        RunAll(ops::kQr, ir::MakeParams(ops::QrParams{false, options.pivoting}), {m}, call);
    const Array q = options.conjugate ? conj(made[0], loc) : made[0];
    made[0] = is_left ? f.MatMul(q, x) : f.MatMul(x, q);
    if (is_vector) made[0] = squeeze(made[0], is_left ? -1 : -2, loc);
    return made;
  };
  std::vector<Array> made = AsOne(call, {{"a", a}, {"c", c}, options}, multiply);
  return {made[0], made[1], options.pivoting ? made[2] : Array()};
}

Array householder_product(Operand a, Operand taus, Loc loc) {
  const Call call{"householder_product", loc};
  return AsOne(call, {a, taus}, [&](const Operand& x, const Operand& t) {
    return Run(ops::kHouseholderProduct, nullptr, {ToArray(x, call), ToArray(t, call)}, call);
  });
}

namespace {

std::vector<Array> SvdOf(const Array& a, bool compute_uv, bool full, Call call) {
  const ops::SvdParams params{compute_uv, full && compute_uv};
  return RunAll(ops::kSvd, ir::MakeParams(params), {a}, call);
}

// Returns the Hermitian matrices whose lower triangle is the one that the options name.
Array HermitianOf(const Operand& x, const EighOptions& options, Call call) {
  const MatrixFormulas f(call);
  const Array a = ToSquare(x, call);
  if (options.symmetrize_input) return f.Scaled(f.Add(a, f.Adjoint(a)), 0.5);
  return options.upper ? f.Adjoint(a) : a;
}

}  // namespace

Eigh eigh(Operand a, EighOptions options, Loc loc) {
  const Call call{"eigh", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    return RunAll(ops::kEigh, ir::MakeParams(ops::VectorsParams{true}),
                  {HermitianOf(x, options, call)}, call);
  });
  return {made[1], made[0]};
}

Array eigvalsh(Operand a, EighOptions options, Loc loc) {
  const Call call{"eigvalsh", loc};
  return AsOne(call, {a, options}, [&](const Operand& x) {
    return Run(ops::kEigh, ir::MakeParams(ops::VectorsParams{false}),
               {HermitianOf(x, options, call)}, call);
  });
}

namespace {

// Returns the matrices with the diagonal d and conj(e) below it, whose upper triangle is not read.
Array TridiagonalMatrix(const Operand& d, const Operand& e, Call call) {
  const MatrixFormulas f(call);
  const Loc loc = call.loc;
  const DType t = FloatOf(PromotedDType({d, e}, call));
  const Array main = Convert(ToArray(d, call), t, call), next = Convert(ToArray(e, call), t, call);
  const int64_t n = Rank(main) == 0 ? 0 : ShapeOf(main).back();
  if (Rank(main) == 0 || Rank(next) == 0 || ShapeOf(next).back() != n - 1)
    FailShape(call, 13,
              fmt::format("d [..., n] and e [..., n - 1] do not fit: their shapes are {} and {}",
                          ops::ShapeText(ShapeOf(main)), ops::ShapeText(ShapeOf(next))));
  std::vector<Padding> padding(ShapeOf(next).size());
  padding.back().low = 1;
  const Array below = pad(conj(next, loc), padding, f.NumberLike(next, 0), loc);
  const Array index = iota({n, n}, 0, {.dtype = i32}, loc);
  const Array distance = f.Sub(index, f.Transposed(index));
  const auto at = [&](int64_t k, const Array& x, const Array& otherwise) {
    return f.Where(eq(distance, Operand(k, loc), {}, loc), f.Column(x), otherwise);
  };
  return at(0, main, at(1, below, f.NumberLike(main, 0)));
}

}  // namespace

Eigh eigh_tridiagonal(Operand d, Operand e, Loc loc) {
  const Call call{"eigh_tridiagonal", loc};
  std::vector<Array> made = AsOne(call, {d, e}, [&](const Operand& x, const Operand& y) {
    return RunAll(ops::kEigh, ir::MakeParams(ops::VectorsParams{true}),
                  {TridiagonalMatrix(x, y, call)}, call);
  });
  return {made[1], made[0]};
}

Array eigvalsh_tridiagonal(Operand d, Operand e, Loc loc) {
  const Call call{"eigvalsh_tridiagonal", loc};
  return AsOne(call, {d, e}, [&](const Operand& x, const Operand& y) {
    return Run(ops::kEigh, ir::MakeParams(ops::VectorsParams{false}),
               {TridiagonalMatrix(x, y, call)}, call);
  });
}

Eig eig(Operand a, Loc loc) {
  const Call call{"eig", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    return RunAll(ops::kEig, ir::MakeParams(ops::VectorsParams{true}), {ToSquare(x, call)}, call);
  });
  return {made[1], made[0]};
}

Array eigvals(Operand a, Loc loc) {
  const Call call{"eigvals", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    return Run(ops::kEig, ir::MakeParams(ops::VectorsParams{false}), {ToSquare(x, call)}, call);
  });
}

Svd svd(Operand a, SvdOptions options, Loc loc) {
  const Call call{"svd", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    return SvdOf(ToMatrices(x, call), true, options.full_matrices, call);
  });
  return {made[0], made[1], made[2]};
}

Array svdvals(Operand a, Loc loc) {
  const Call call{"svdvals", loc};
  return AsOne(call, {a},
               [&](const Operand& x) { return SvdOf(ToMatrices(x, call), false, false, call)[0]; });
}

Lstsq lstsq(Operand a, Operand b, LstsqOptions options, Loc loc) {
  const Call call{"lstsq", loc};
  std::vector<Array> made = AsOne(call, {a, b, options}, [&](const Operand& x, const Operand& y) {
    const MatrixFormulas f(call);
    const DType t = FloatOf(PromotedDType({x, y}, call));
    const Array m = Convert(ToMatrices(x, call), t, call);
    Array right = Convert(ToArray(y, call), t, call);
    const bool is_vector = Rank(right) == 1;
    if (Rank(m) != 2) FailShape(call, 11, fmt::format("a has rank 2, not {}", Rank(m)));
    if (is_vector) right = f.Column(right);
    if (Rank(right) != 2 || RowsOf(right) != RowsOf(m))
      FailShape(call, 13,
                fmt::format("b must be [{0}] or [{0}, k], not the shape {1}", RowsOf(m),
                            ops::ShapeText(ShapeOf(ToArray(y, call)))));
    const std::vector<Array> usv = SvdOf(m, true, false, call);
    const Array &s = usv[1], zero = f.NumberLike(s, 0), one = f.NumberLike(s, 1);
    const int64_t size = std::max(RowsOf(m), ColumnsOf(m)), k = ShapeOf(s).back();
    double rcond = options.rcond.value_or(EpsilonOf(t) * static_cast<double>(size));
    if (rcond < 0) rcond = EpsilonOf(t);
    Array kept = gt(s, zero, {}, loc);
    if (k > 0)
      kept = bitwise_and(kept, ge(s, f.Scaled(f.Slice(s, 1, 0, 1), rcond), {}, loc), {}, loc);
    const Array inverse = f.Where(kept, f.Div(one, f.Where(kept, s, one)), zero);
    const Array projected = f.MatMul(f.Adjoint(usv[0]), right);
    Array solution = f.MatMul(f.Adjoint(usv[2]), f.Mul(f.Column(inverse), projected));
    const Array rest = f.Sub(right, f.MatMul(m, solution));
    const Array residuals = reduce_sum(real(f.Mul(rest, conj(rest, loc)), loc), {0}, {}, loc);
    if (is_vector) solution = squeeze(solution, {-1}, loc);
    return std::vector<Array>{solution, residuals, sum(kept, {-1}, {}, loc), s};
  });
  return {made[0], made[1], made[2], made[3]};
}

namespace {

// Which values exceed rtol times the largest in size.
Array IsLarge(const Array& values, double rtol, const MatrixFormulas& f) {
  const Array size = abs(values, f.loc());
  if (ShapeOf(size).back() == 0) return gt(size, size, {}, f.loc());
  const Array largest = reduce_max(size, {-1}, {}, f.loc());
  return gt(size, f.Scaled(f.Column(largest), rtol), {}, f.loc());
}

// For a = u diag(values) vh.
Array PinvOf(const Array& u, const Array& values, const Array& vh, double rtol,
             const MatrixFormulas& f) {
  const Array infinite = f.NumberLike(values, std::numeric_limits<double>::infinity());
  const Array safe = f.Where(IsLarge(values, rtol, f), values, infinite);
  return f.MatMul(f.Adjoint(vh), f.Div(f.Adjoint(u), f.Column(safe)));
}
Array PinvOf(const Array& a, double rtol, bool hermitian, const MatrixFormulas& f) {
  if (hermitian) {
    const Eigh made = eigh(a, {}, f.loc());
    return PinvOf(made.eigenvectors, made.eigenvalues, f.Adjoint(made.eigenvectors), rtol, f);
  }
  const std::vector<Array> usv = SvdOf(a, true, false, f.call());
  return PinvOf(usv[0], usv[1], usv[2], rtol, f);
}

// Golub and Pereyra, The differentiation of pseudo-inverses (1973).
Array PinvTangent(const Array& a, const Array& da, const Array& p, const MatrixFormulas& f) {
  const Array pt = f.Adjoint(p), dat = f.Adjoint(da);
  const auto times = [&](const Array& x, const Array& y) { return f.MatMul(x, y); };
  // The order of the products that takes the least operations.
  const bool tall = RowsOf(a) >= ColumnsOf(a);
  const Array s = tall ? times(times(p, pt), dat) : times(p, times(pt, dat));
  const Array t = tall ? times(times(dat, pt), p) : times(dat, times(pt, p));
  const Array moved = tall ? times(times(p, da), p) : times(p, times(da, p));
  const Array left = tall ? times(times(s, a), p) : times(s, times(a, p));
  const Array right = tall ? times(times(p, a), t) : times(p, times(a, t));
  return f.Sub(f.Add(f.Sub(s, moved), f.Sub(t, left)), right);
}

}  // namespace

Array pinv(Operand a, RankOptions options, Loc loc) {
  const Call call{"pinv", loc};
  return AsOne(call, {a, options}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const bool hermitian = options.hermitian;
    Array m = hermitian ? ToSquare(x, call) : ToMatrices(x, call);
    if (hermitian) m = HermitianOf(m, {}, call);
    const auto size = static_cast<double>(std::max(RowsOf(m), ColumnsOf(m)));
    const double rtol = options.rtol.value_or(10 * size * EpsilonOf(TypeOf(m)->dtype()));
    const auto plain = [=](Array y) { return PinvOf(y, rtol, hermitian, f); };
    return custom_jvp(plain, [=](auto values, auto tangents) {
      const Array p = PinvOf(std::get<0>(values), rtol, hermitian, f);
      return std::pair(p, PinvTangent(std::get<0>(values), std::get<0>(tangents), p, f));
    })(m, loc);
  });
}

Array matrix_rank(Operand a, RankOptions options, Loc loc) {
  const Call call{"matrix_rank", loc};
  return AsOne(call, {a, options}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const Array m = ToMatrices(x, call);
    const auto size = static_cast<double>(std::max(RowsOf(m), ColumnsOf(m)));
    const double rtol = options.rtol.value_or(size * EpsilonOf(TypeOf(m)->dtype()));
    const Array values = options.hermitian ? eigvalsh(m, {}, loc) : SvdOf(m, false, false, call)[0];
    return sum(IsLarge(values, rtol, f), {-1}, {}, loc);
  });
}

Array cond(Operand a, NormOrder order, Loc loc) {
  const Call call{"cond", loc};
  return AsOne(call, {a, order}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const Array m = ToMatrices(x, call);
    if (RowsOf(m) == 0 || ColumnsOf(m) == 0)
      FailShape(call, 13, fmt::format("the matrix is empty: {} x {}", RowsOf(m), ColumnsOf(m)));
    const double p = order.number().value_or(0);
    Array ratio;
    if (p == 2 || p == -2) {
      const Array s = SvdOf(m, false, false, call)[0];
      const int64_t last = ShapeOf(s).back() - 1;
      ratio = f.Div(f.Entry(s, p == 2 ? 0 : last), f.Entry(s, p == 2 ? last : 0));
      if (p == 2) return ratio;
    } else {
      const Array square = ToSquare(m, call);
      const auto size = [&](const Array& y) { return matrix_norm(y, {.ord = order}, loc); };
      ratio = f.Mul(size(square), size(inv(square, loc)));
    }
    // A singular matrix gives NaN; its condition is infinite.
    const Array given = any(isnan(m, loc), {-2, -1}, {}, loc);
    const Array made = bitwise_and(isnan(ratio, loc), logical_not(given, loc), {}, loc);
    return f.Where(made, f.NumberLike(ratio, std::numeric_limits<double>::infinity()), ratio);
  });
}

Hessenberg hessenberg(Operand a, Loc loc) {
  const Call call{"hessenberg", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    return RunAll(ops::kHessenberg, nullptr, {ToSquare(x, call)}, call);
  });
  return {made[0], made[1]};
}

HessenbergForm hessenberg_form(Operand a, Loc loc) {
  const Call call{"hessenberg_form", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const std::vector<Array> packed = RunAll(ops::kHessenberg, nullptr, {ToSquare(x, call)}, call);
    const Array h = triu(packed[0], -1, loc);
    const int64_t n = RowsOf(h);
    // The reflectors leave row and column 0 as they are.
    const Array reflectors = f.Slice(f.Slice(packed[0], 2, 1, n), 1, 0, n - 1);
    const Array block = householder_product(reflectors, packed[1], loc);
    std::vector<Padding> padding(static_cast<size_t>(Rank(h)));
    for (size_t d = padding.size() - 2; d < padding.size(); ++d) padding[d].low = 1;
    const Array q = pad(block, padding, f.NumberLike(h, 0), loc);
    const Array index = iota({n, n}, 0, {.dtype = i32}, loc);
    const Array corner = eq(f.Add(index, f.Transposed(index)), Operand(0, loc), {}, loc);
    return std::vector<Array>{h, f.Where(corner, f.NumberLike(h, 1), q)};
  });
  return {made[0], made[1]};
}

Tridiagonal tridiagonal(Operand a, TridiagonalOptions options, Loc loc) {
  const Call call{"tridiagonal", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    return RunAll(ops::kTridiagonal, ir::MakeParams(ops::TridiagonalParams{options.lower}),
                  {ToSquare(x, call)}, call);
  });
  return {made[0], made[1], made[2], made[3]};
}

Polar polar(Operand a, PolarOptions options, Loc loc) {
  const Call call{"polar", loc};
  std::vector<Array> made = AsOne(call, {a, options}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const std::vector<Array> usv = SvdOf(ToMatrices(x, call), true, false, call);
    const Array &u = usv[0], &vh = usv[2];
    const Array side = options.left ? f.Adjoint(u) : vh;
    const Array p = f.MatMul(f.Adjoint(side), f.Mul(f.Column(usv[1]), side));
    return std::vector<Array>{f.MatMul(u, vh), p};
  });
  return {made[0], made[1]};
}

}  // namespace tessera::linalg

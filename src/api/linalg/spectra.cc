// QR factorisation, eigenvalues and singular values, and functions of them.
#include <fmt/format.h>

#include "api/core/edits.h"
#include "api/linalg/blocked.h"
#include "api/linalg/systems.h"
#include "ops/check.h"
#include "tessera/custom_rules.h"
#include "tessera/linalg.h"

namespace tessera::linalg {

using namespace api;

Qr qr(Operand a, QrOptions options, Loc loc) {
  const Call call{"qr", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    const Array m = ToMatrices(x, call);
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

// Returns the symmetric matrices whose lower triangle is the one that the options name.
Array SymmetricOf(const Operand& x, const EighOptions& options, Call call) {
  const MatrixFormulas f(call);
  const Array a = ToSquare(x, call);
  if (options.symmetrize_input) return f.Scaled(f.Add(a, f.Transposed(a)), 0.5);
  return options.upper ? f.Transposed(a) : a;
}

}  // namespace

Eigh eigh(Operand a, EighOptions options, Loc loc) {
  const Call call{"eigh", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    return RunAll(ops::kEigh, ir::MakeParams(ops::VectorsParams{true}),
                  {SymmetricOf(x, options, call)}, call);
  });
  return {made[1], made[0]};
}

Array eigvalsh(Operand a, EighOptions options, Loc loc) {
  const Call call{"eigvalsh", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    return Run(ops::kEigh, ir::MakeParams(ops::VectorsParams{false}),
               {SymmetricOf(x, options, call)}, call);
  });
}

Svd svd(Operand a, SvdOptions options, Loc loc) {
  const Call call{"svd", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
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
  std::vector<Array> made = AsOne(call, {a, b}, [&](const Operand& x, const Operand& y) {
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
    const Array projected = f.MatMul(f.Transposed(usv[0]), right);
    Array solution = f.MatMul(f.Transposed(usv[2]), f.Mul(f.Column(inverse), projected));
    const Array rest = f.Sub(right, f.MatMul(m, solution));
    const Array residuals = reduce_sum(f.Mul(rest, rest), {0}, {}, loc);
    if (is_vector) solution = squeeze(solution, {-1}, loc);
    return std::vector<Array>{solution, residuals, sum(kept, {-1}, {}, loc), s};
  });
  return {made[0], made[1], made[2], made[3]};
}

namespace {

// Which singular values exceed rtol times the largest.
Array IsLarge(const Array& s, double rtol, const MatrixFormulas& f) {
  if (ShapeOf(s).back() == 0) return gt(s, s, {}, f.loc());
  return gt(s, f.Scaled(f.Slice(s, 1, 0, 1), rtol), {}, f.loc());
}

Array PinvOf(const Array& a, double rtol, const MatrixFormulas& f) {
  const std::vector<Array> usv = SvdOf(a, true, false, f.call());
  const Array& s = usv[1];
  const Array safe =
      f.Where(IsLarge(s, rtol, f), s, f.NumberLike(s, std::numeric_limits<double>::infinity()));
  return f.MatMul(f.Transposed(usv[2]), f.Div(f.Transposed(usv[0]), f.Column(safe)));
}

// Golub and Pereyra, The differentiation of pseudo-inverses (1973).
Array PinvTangent(const Array& a, const Array& da, const Array& p, const MatrixFormulas& f) {
  const Array pt = f.Transposed(p), dat = f.Transposed(da);
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
  return AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const Array m = ToMatrices(x, call);
    const auto size = static_cast<double>(std::max(RowsOf(m), ColumnsOf(m)));
    const double rtol = options.rtol.value_or(10 * size * EpsilonOf(TypeOf(m)->dtype()));
    const auto plain = [f, rtol](Array y) { return PinvOf(y, rtol, f); };
    return custom_jvp(plain, [f, rtol](auto values, auto tangents) {
      const Array p = PinvOf(std::get<0>(values), rtol, f);
      return std::pair(p, PinvTangent(std::get<0>(values), std::get<0>(tangents), p, f));
    })(m, loc);
  });
}

Array matrix_rank(Operand a, RankOptions options, Loc loc) {
  const Call call{"matrix_rank", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const Array m = ToMatrices(x, call);
    const auto size = static_cast<double>(std::max(RowsOf(m), ColumnsOf(m)));
    const double rtol = options.rtol.value_or(size * EpsilonOf(TypeOf(m)->dtype()));
    return sum(IsLarge(SvdOf(m, false, false, call)[0], rtol, f), {-1}, {}, loc);
  });
}

Array cond(Operand a, NormOrder order, Loc loc) {
  const Call call{"cond", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
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

Schur schur(Operand a, Loc loc) {
  const Call call{"schur", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    return RunAll(ops::kSchur, ir::MakeParams(ops::VectorsParams{true}), {ToSquare(x, call)}, call);
  });
  return {made[0], made[1]};
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
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    return RunAll(ops::kTridiagonal, ir::MakeParams(ops::TridiagonalParams{options.lower}),
                  {ToSquare(x, call)}, call);
  });
  return {made[0], made[1], made[2], made[3]};
}

Polar polar(Operand a, PolarOptions options, Loc loc) {
  const Call call{"polar", loc};
  std::vector<Array> made = AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const std::vector<Array> usv = SvdOf(ToMatrices(x, call), true, false, call);
    const Array &u = usv[0], &vh = usv[2];
    const Array side = options.left ? f.Transposed(u) : vh;
    const Array p = f.MatMul(f.Transposed(side), f.Mul(f.Column(usv[1]), side));
    return std::vector<Array>{f.MatMul(u, vh), p};
  });
  return {made[0], made[1]};
}

}  // namespace tessera::linalg

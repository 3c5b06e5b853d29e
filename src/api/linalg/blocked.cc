// Blocked Cholesky, LU and QR factorisation, and triangular systems.
#include "api/linalg/blocked.h"

#include <algorithm>

#include "api/linalg/blocks.h"

namespace tessera::api {
bool IsShardedMatrix(const Array& a) {
  if (Rank(a) != 2 || !TypeOf(a)->mesh()) return false;
  const sharding::TensorSharding& s = TypeOf(a)->sharding();
  return !s.dims[0].axes.empty() || !s.dims[1].axes.empty();
}

// Right-looking: factors the first block, solves for the rest of its columns, and subtracts their
// product from the rest of the matrix, which is then laid out evenly over all devices.
Array CholeskyByBlocks(const Array& a, Call call) {
  const MatrixBlocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t n = RowsOf(a);
  Array rest = b.ByRows(a), first;
  std::vector<Array> columns;
  for (int64_t m = n; m > 0; m = RowsOf(rest)) {
    const int64_t size = b.BlockOf(m, n);
    first =
        Run(ops::kCholesky, nullptr, {b.Whole(b.Columns(b.Rows(rest, 0, size), 0, size))}, call);
    if (size == m) {
      columns.push_back(b.AfterRows(b.ByRows(first), n - m));
      break;
    }
    const Array below = linalg::triangular_solve(
        first, b.Columns(b.Rows(rest, size, m), 0, size),
        {.lower = true, .transpose_a = true, .conjugate_a = true}, call.loc);
    columns.push_back(b.AfterRows(b.Below({b.ByRows(first), below}), n - m));
    rest = f.Sub(b.Columns(b.Rows(rest, size, m), size, m),
                 f.MatMul(below, f.Adjoint(b.Whole(below))));
  }
  if (columns.empty()) return a;
  // If a is not positive definite, the last block is NaN, and so is the result.
  const Array last =
      f.Entry(f.Entry(f.Transposed(first), ColumnsOf(first) - 1), ColumnsOf(first) - 1);
  return tril(f.Add(b.Beside(std::move(columns)), f.Sub(last, last)), 0, call.loc);
}

Array TriangularByBlocks(const Array& a, const Array& right, Triangle triangle, Call call) {
  const MatrixBlocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t n = RowsOf(a);
  const bool lower = triangle.lower != triangle.transposed;
  const Array rows = b.ByRows(triangle.transposed ? f.Transposed(a) : a);
  // Devices that share the columns of a block solve for their own.
  const bool shares = ColumnsOf(right) % b.devices() == 0;
  Array rest = b.ByRows(right);
  std::vector<Array> x;
  // The rows [begin, end) are not solved yet.
  for (int64_t begin = 0, end = n; begin < end;) {
    const int64_t m = end - begin, size = b.BlockOf(m, n);
    const int64_t at = lower ? begin : end - size;
    const Array diagonal = b.Whole(b.Columns(b.Rows(rows, at, at + size), at, at + size));
    const Array side = b.Rows(rest, lower ? 0 : m - size, lower ? size : m);
    const Array block = b.Whole(linalg::triangular_solve(
        diagonal, shares ? b.ByColumns(side) : b.Whole(side),
        {.left_side = true, .lower = lower, .unit_diagonal = triangle.unit_diagonal}, call.loc));
    x.push_back(b.ByRows(block));
    (lower ? begin : end) += lower ? size : -size;
    if (begin == end) break;
    const Array panel = b.Columns(b.Rows(rows, begin, end), at, at + size);
    rest = f.Sub(b.Rows(rest, lower ? size : 0, lower ? m : m - size), f.MatMul(panel, block));
  }
  if (!lower) std::reverse(x.begin(), x.end());
  return x.empty() ? right : b.Below(std::move(x));
}

namespace {

// Returns x with the rows after the first `done` in the order of the permutation.
Array SortedAfter(const Array& x, int64_t done, const Array& permutation, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const auto rows = [&](int64_t begin, int64_t end) {
    return f.Slice(x, static_cast<int>(Rank(x)), begin, end);
  };
  const Array below = b.RowsInOrder(rows(done, ShapeOf(x)[0]), permutation);
  return done == 0 ? below : concatenate({rows(0, done), below}, 0, f.loc());
}

}  // namespace

// Lays the matrix out by columns, so that rows are exchanged without communication. All devices get
// each panel and factor it alike.
linalg::Lu LuByBlocks(const Array& a, Call call) {
  const MatrixBlocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t m = RowsOf(a), n = ColumnsOf(a), steps = std::min(m, n);
  Array rest = b.ByColumns(a);
  Array order = iota({m}, 0, {.dtype = i32}, call.loc), left;
  std::vector<Array> pivots, upper;
  for (int64_t done = 0; done < steps;) {
    const int64_t size = std::min(b.BlockOf(n - done, n), steps - done);
    const linalg::Lu panel = linalg::lu(b.Whole(b.Columns(rest, 0, size)), {}, call.loc);
    const auto sorted = [&](const Array& x) { return SortedAfter(x, done, panel.permutation, b); };
    order = sorted(order);
    pivots.push_back(f.Add(panel.pivots, StrongScalar(done, i32, call)));
    const Array own = b.AfterRows(tril(panel.lu, -1, call.loc), done);
    left = done == 0 ? b.ByColumns(own) : b.Beside({sorted(left), b.ByColumns(own)});
    const Array square = b.Rows(panel.lu, 0, size);
    Array row = b.ByColumns(triu(square, 0, call.loc));
    const int64_t columns = ColumnsOf(rest);
    if (columns > size) {
      const Array trailing = b.RowsInOrder(b.Columns(rest, size, columns), panel.permutation);
      const Array solved = linalg::triangular_solve(
          square, b.Rows(trailing, 0, size),
          {.left_side = true, .lower = true, .unit_diagonal = true}, call.loc);
      row = b.Beside({row, solved});
      rest = f.Sub(b.Rows(trailing, size, m - done),
                   f.MatMul(b.Rows(panel.lu, size, m - done), solved));
    }
    upper.push_back(b.AfterColumns(row, done));
    done += size;
  }
  if (upper.empty()) return linalg::lu(b.Whole(a), {}, call.loc);
  Array rows = b.Below(std::move(upper));
  if (m > steps) rows = pad(rows, {{0, m - steps}, {0, 0}}, f.NumberLike(rows, 0), call.loc);
  if (n > steps) left = pad(left, {{0, 0}, {0, n - steps}}, f.NumberLike(left, 0), call.loc);
  return {f.Add(left, rows),
          pivots.size() == 1 ? pivots[0] : concatenate(std::move(pivots), 0, call.loc), order};
}

Array LuSolveByBlocks(const linalg::Lu& lu, const Array& right, bool transposed, Call call) {
  const MatrixBlocks b(lu.lu, call);
  const Array rows = b.ByRows(lu.lu);
  const auto solve = [&](const Array& side, bool lower) {
    return TriangularByBlocks(
        rows, side, {.lower = lower, .transposed = transposed, .unit_diagonal = lower}, call);
  };
  // Rows are exchanged where they are whole.
  if (!transposed) return solve(solve(b.RowsInOrder(b.Whole(right), lu.permutation), true), false);
  const Array order = argsort(lu.permutation, -1, {}, call.loc);
  return b.ByRows(b.RowsInOrder(b.Whole(solve(solve(right, false), true)), order));
}

bool IsTall(int64_t rows, int64_t columns, int64_t devices) { return rows / devices >= columns; }

namespace {

// For a tall matrix: each device factors its rows, and all of them the stacked r (Demmel et al.,
// Communication-optimal parallel and sequential QR, 2012).
linalg::Qr TallQr(const Array& a, const MatrixBlocks& b) {
  const MatrixFormulas& f = b.f();
  const Loc loc = f.loc();
  const int64_t p = b.devices(), m = RowsOf(a), n = ColumnsOf(a);
  const Array parts = reshape(b.ByRows(a), {p, m / p, n}, {}, loc);
  const linalg::Qr own = linalg::qr(parts, {}, loc);
  const linalg::Qr top = linalg::qr(reshape(b.Whole(own.r), {p * n, n}, {}, loc), {}, loc);
  const Array factors = b.ByRows(reshape(top.q, {p, n, n}, {}, loc));
  return {reshape(f.MatMul(own.q, factors), {m, n}, {}, loc), top.r};
}

}  // namespace

// By block Gram-Schmidt, applied twice to each panel, over columns.
linalg::Qr QrByBlocks(const Array& a, Call call) {
  const MatrixBlocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t m = RowsOf(a), n = ColumnsOf(a), p = b.devices(), steps = std::min(m, n);
  if (IsTall(m, n, p)) return TallQr(a, b);
  Array rest = b.ByColumns(a), q;
  std::vector<Array> rows;
  for (int64_t done = 0; done < steps;) {
    const int64_t size = b.BlockOf(steps - done, n), left = ColumnsOf(rest);
    Array panel = b.Whole(b.Columns(rest, 0, size));
    linalg::Qr made = linalg::qr(panel, {}, call.loc);
    Array r = made.r;
    if (done > 0) {
      // Rounding leaves parts along the columns before. Subtracts them and factors the panel again.
      const Array again = f.MatMul(f.Adjoint(q), made.q);  // [done, size], by rows
      const Array clean = f.Sub(made.q, f.MatMul(q, b.Whole(again)));
      made = linalg::qr(b.Whole(clean), {}, call.loc);
      r = f.MatMul(made.r, r);
    }
    Array row = b.ByColumns(triu(r, 0, call.loc));
    if (left > size) {
      const Array trailing = b.Columns(rest, size, left);
      const Array projected = f.MatMul(f.Adjoint(made.q), trailing);
      row = b.Beside({row, projected});
      rest = f.Sub(trailing, f.MatMul(made.q, projected));
    }
    const Array own = b.ByColumns(made.q);
    q = done == 0 ? own : b.Beside({q, own});
    rows.push_back(b.AfterColumns(row, done));
    done += size;
  }
  return {q, b.Below(std::move(rows))};
}

}  // namespace tessera::api

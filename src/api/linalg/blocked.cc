// Blocked Cholesky, LU and QR factorisation, and triangular systems.
#include "api/linalg/blocked.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/lookup.h"

namespace tessera::api {
namespace {

using sharding::AxisList;
using sharding::TensorSharding;

// The layouts of a matrix and its pieces: by rows or by columns, over all axes of its dims.
class Blocks {
 public:
  Blocks(const Array& a, Call call) : f_(call), mesh_(TypeOf(a)->mesh()) {
    const TensorSharding& s = TypeOf(a)->sharding();
    axes_ = s.dims[0].axes;
    axes_.insert(axes_.end(), s.dims[1].axes.begin(), s.dims[1].axes.end());
    devices_ = sharding::SizeOf(axes_);
  }
  // C16: the axes must divide the size of a dim.
  void CheckDivides(int64_t size, const char* dim) const {
    if (size % devices_ != 0)
      FailSharding(
          f_.call(), 16,
          fmt::format("the {} {} of the matrix must divide over the {} devices that hold it", size,
                      dim, devices_),
          {"shard fewer dims, or use fewer devices"});
  }
  Array ByRows(const Array& x) const { return LaidOut(x, 0); }
  Array ByColumns(const Array& x) const { return LaidOut(x, 1); }
  Array Whole(const Array& x) const { return LaidOut(x, -1); }
  // Returns the size of the first block of a dim of `left` elements out of `size`.
  int64_t BlockOf(int64_t left, int64_t size) const {
    constexpr int64_t kBlock = 256, kFewest = 4;
    const int64_t block = std::clamp<int64_t>(size / kFewest, 1, kBlock);
    return std::min(left, (block + devices_ - 1) / devices_ * devices_);
  }
  int64_t devices() const { return devices_; }

  const MatrixFormulas& f() const { return f_; }
  Array Rows(const Array& x, int64_t begin, int64_t end) const {
    return f_.Slice(x, 2, begin, end);
  }
  Array Columns(const Array& x, int64_t begin, int64_t end) const {
    return f_.Slice(x, 1, begin, end);
  }
  Array Below(std::vector<Array> parts) const { return Joined(std::move(parts), 0); }
  Array Beside(std::vector<Array> parts) const { return Joined(std::move(parts), 1); }
  // Returns x after `before` rows of zeros, and before `after` columns of zeros.
  Array AfterRows(const Array& x, int64_t rows) const {
    return rows == 0 ? x : pad(x, {{rows, 0}, {0, 0}}, f_.NumberLike(x, 0), f_.loc());
  }
  Array AfterColumns(const Array& x, int64_t columns) const {
    return columns == 0 ? x : pad(x, {{0, 0}, {columns, 0}}, f_.NumberLike(x, 0), f_.loc());
  }

 private:
  Array LaidOut(const Array& x, int dim) const {
    TensorSharding to = sharding::Replicated(mesh_, static_cast<int>(Rank(x)));
    if (dim >= 0 && !ShapeOf(x).empty()) to.dims[static_cast<size_t>(dim)].axes = axes_;
    return TypeOf(x)->sharding() == to ? x : Moved(x, std::move(to), f_.call());
  }
  Array Joined(std::vector<Array> parts, int dim) const {
    return parts.size() == 1 ? parts[0] : concatenate(std::move(parts), dim, f_.loc());
  }

  MatrixFormulas f_;
  const sharding::MeshDef* mesh_;
  AxisList axes_;
  int64_t devices_ = 1;
};

Array RowsInOrder(const Array& x, const Array& order, const Blocks& b) {
  return take(x, order, 0, {}, b.f().loc());
}

}  // namespace

bool IsShardedMatrix(const Array& a) {
  if (Rank(a) != 2 || !TypeOf(a)->mesh()) return false;
  const TensorSharding& s = TypeOf(a)->sharding();
  return !s.dims[0].axes.empty() || !s.dims[1].axes.empty();
}

// Right-looking: factors the first block, solves for the rest of its columns, and subtracts their
// product from the rest of the matrix, which is then laid out evenly over all devices.
Array BlockedCholesky(const Array& a, Call call) {
  const Blocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t n = RowsOf(a);
  b.CheckDivides(n, "rows");
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

Array BlockedTriangularSolve(const Array& a, const Array& right, bool lower, bool transpose,
                             bool unit, Call call) {
  const Blocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t n = RowsOf(a);
  b.CheckDivides(n, "rows");
  if (transpose) lower = !lower;
  const Array rows = b.ByRows(transpose ? f.Transposed(a) : a);
  Array rest = b.ByRows(right);
  std::vector<Array> x;
  // The rows [begin, end) are not solved yet.
  for (int64_t begin = 0, end = n; begin < end;) {
    const int64_t m = end - begin, size = b.BlockOf(m, n);
    const int64_t at = lower ? begin : end - size;
    const Array diagonal = b.Whole(b.Columns(b.Rows(rows, at, at + size), at, at + size));
    const Array side = b.Whole(b.Rows(rest, lower ? 0 : m - size, lower ? size : m));
    const Array block = linalg::triangular_solve(
        diagonal, side, {.left_side = true, .lower = lower, .unit_diagonal = unit}, call.loc);
    x.push_back(b.ByRows(block));
    (lower ? begin : end) += lower ? size : -size;
    if (begin == end) break;
    const Array panel = b.Columns(b.Rows(rows, begin, end), at, at + size);
    rest = f.Sub(b.Rows(rest, lower ? size : 0, lower ? m : m - size), f.MatMul(panel, block));
  }
  if (!lower) std::reverse(x.begin(), x.end());
  return x.empty() ? right : b.Below(std::move(x));
}

// Lays the matrix out by columns, so that rows are exchanged without communication. All devices get
// each panel and factor it alike.
linalg::Lu BlockedLu(const Array& a, Call call) {
  const Blocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t m = RowsOf(a), n = ColumnsOf(a), steps = std::min(m, n);
  b.CheckDivides(n, "columns");
  Array rest = b.ByColumns(a);
  Array order = iota({m}, 0, {.dtype = i32}, call.loc), left;
  std::vector<Array> pivots, upper;
  for (int64_t done = 0; done < steps;) {
    const int64_t size = std::min(b.BlockOf(n - done, n), steps - done);
    const linalg::Lu panel = linalg::lu(b.Whole(b.Columns(rest, 0, size)), {}, call.loc);
    const auto sorted = [&](const Array& x) {
      const Array below =
          RowsInOrder(f.Slice(x, static_cast<int>(Rank(x)), done, m), panel.permutation, b);
      if (done == 0) return below;
      return concatenate({f.Slice(x, static_cast<int>(Rank(x)), 0, done), below}, 0, call.loc);
    };
    order = sorted(order);
    pivots.push_back(f.Add(panel.pivots, StrongScalar(done, i32, call)));
    const Array own = b.AfterRows(tril(panel.lu, -1, call.loc), done);
    left = done == 0 ? b.ByColumns(own) : b.Beside({sorted(left), b.ByColumns(own)});
    const Array square = b.Rows(panel.lu, 0, size);
    Array row = b.ByColumns(triu(square, 0, call.loc));
    const int64_t columns = ColumnsOf(rest);
    if (columns > size) {
      const Array trailing = RowsInOrder(b.Columns(rest, size, columns), panel.permutation, b);
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

Array BlockedLuSolve(const linalg::Lu& lu, const Array& right, Call call) {
  const Blocks b(lu.lu, call);
  // Rows of b are exchanged where they are whole.
  const Array sorted = RowsInOrder(b.Whole(right), lu.permutation, b);
  const Array rows = b.ByRows(lu.lu);
  const Array forward = BlockedTriangularSolve(rows, sorted, true, false, true, call);
  return BlockedTriangularSolve(rows, forward, false, false, false, call);
}

namespace {

// For a tall matrix: each device factors its rows, and all of them the stacked r (Demmel et al.,
// Communication-optimal parallel and sequential QR, 2012).
linalg::Qr TallQr(const Array& a, const Blocks& b) {
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
linalg::Qr BlockedQr(const Array& a, Call call) {
  const Blocks b(a, call);
  const MatrixFormulas& f = b.f();
  const int64_t m = RowsOf(a), n = ColumnsOf(a), p = b.devices(), steps = std::min(m, n);
  if (m % p == 0 && m / p >= n) return TallQr(a, b);
  b.CheckDivides(n, "columns");
  b.CheckDivides(steps, m < n ? "rows" : "columns");
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

// Element numbers: of triangles and diagonals, of whole arrays, and from and to flat numbers.
#include <fmt/format.h>

#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "api/numpy/sized.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "tessera/pieces.h"

namespace tessera {

using namespace api;

namespace {

// Returns the numbers of the host in the default int.
Array Ints(const std::vector<int64_t>& values, Call call) {
  return Convert(array(values, {}, call.loc), base::DefaultInt(), call);
}

template <class F>
std::vector<Array> Where(int64_t rows, int64_t columns, Call call, const F& is_chosen) {
  if (rows < 0 || columns < 0)
    FailShape(call, 17, fmt::format("a matrix has {} rows and {} columns", rows, columns));
  std::vector<int64_t> row, column;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (is_chosen(i, j)) {
        row.push_back(i);
        column.push_back(j);
      }
  return {Ints(row, call), Ints(column, call)};
}

base::Shape MatrixShape(const Operand& x, Call call) {
  const base::Shape shape = ShapeOf(ToArray(x, call));
  if (shape.size() != 2)
    FailShape(call, 11, fmt::format("a matrix has rank 2, not {}", shape.size()));
  return shape;
}

}  // namespace

Array tri(int64_t n, TriOptions options, Loc loc) {
  const Call call{"tri", loc};
  const int64_t columns = options.columns.value_or(n);
  CheckShape({n, columns}, call);
  const DType t = options.dtype.is_default() ? base::DefaultFloat() : options.dtype;
  const Located row(Positions(n, 0, 2, i32, call), loc),
      column(Positions(columns, 1, 2, i32, call), loc);
  return Convert(row >= column - options.k, t, call);
}
std::vector<Array> tril_indices(int64_t n, TriangleOptions options, Loc loc) {
  return Where(n, options.columns.value_or(n), {"tril_indices", loc},
               [&](int64_t i, int64_t j) { return j <= i + options.k; });
}
std::vector<Array> triu_indices(int64_t n, TriangleOptions options, Loc loc) {
  return Where(n, options.columns.value_or(n), {"triu_indices", loc},
               [&](int64_t i, int64_t j) { return j >= i + options.k; });
}
std::vector<Array> tril_indices_from(Operand x, int64_t k, Loc loc) {
  const base::Shape shape = MatrixShape(x, {"tril_indices_from", loc});
  return tril_indices(shape[0], {.k = k, .columns = shape[1]}, loc);
}
std::vector<Array> triu_indices_from(Operand x, int64_t k, Loc loc) {
  const base::Shape shape = MatrixShape(x, {"triu_indices_from", loc});
  return triu_indices(shape[0], {.k = k, .columns = shape[1]}, loc);
}
std::vector<Array> diag_indices(int64_t n, int64_t rank, Loc loc) {
  const Call call{"diag_indices", loc};
  if (n < 0 || rank < 0)
    FailShape(call, 17, fmt::format("there are no {} dims of size {}", rank, n));
  return std::vector<Array>(base::Size(rank), arange(n, {}, loc));
}
std::vector<Array> diag_indices_from(Operand x, Loc loc) {
  const Call call{"diag_indices_from", loc};
  const base::Shape shape = ShapeOf(ToArray(x, call));
  for (int64_t n : shape)
    if (n != shape[0] || shape.size() < 2)
      FailShape(call, 17, fmt::format("the dims of {} are not equal", ir::FieldText(shape)));
  if (shape.size() < 2) FailShape(call, 11, "a diagonal has 2 dims or more");
  return diag_indices(shape[0], static_cast<int64_t>(shape.size()), loc);
}

Array indices(Shape shape, Loc loc) {
  const Call call{"indices", loc};
  CheckShape(shape.dims(), call);
  std::vector<Array> all;
  const auto rank = static_cast<int64_t>(shape.dims().size());
  for (int64_t d = 0; d < rank; ++d) all.push_back(iota(shape, static_cast<int>(d), {}, loc));
  return all.empty() ? zeros({0}, {.dtype = base::DefaultInt()}, loc) : stack(all, 0, loc);
}

std::vector<Array> ix_(std::vector<Array> xs, Loc loc) {
  const Call call{"ix_", loc};
  return AsOne(call, {xs}, [&](std::vector<Array> all) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (Rank(all[i]) != 1)
        FailShape(call, 17, fmt::format("each array has rank 1, not {}", Rank(all[i])));
      if (TypeOf(all[i])->dtype().is_bool()) all[i] = flatnonzero(all[i], {}, loc);
      base::Shape shape(all.size(), 1);
      shape[i] = ShapeOf(all[i])[0];
      all[i] = Reshape(all[i], shape, call);
    }
    return all;
  });
}

std::vector<Array> unravel_index(Operand numbers, Shape shape, Loc loc) {
  const Call call{"unravel_index", loc};
  return AsOne(call, {{"operand", numbers}, shape}, [&](const Operand& operand) {
    const base::Shape& sizes = shape.dims();
    const int64_t all = base::Elements(sizes);
    const Located given(ToArray(operand, call), loc);
    const Array number = clip(If(given < 0, given + all, given), Operand(0, loc),
                              Operand(std::max<int64_t>(all - 1, 0), loc), loc);
    std::vector<Array> made(sizes.size());
    int64_t step = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      const int64_t size = std::max<int64_t>(sizes[d], 1);
      made[d] =
          remainder(floor_divide(number, Operand(step, loc), {}, loc), Operand(size, loc), {}, loc);
      step *= size;
    }
    return made;
  });
}

static std::string Code(IndexMode v) {
  return v == IndexMode::kWrap ? "IndexMode::kWrap" : "IndexMode::kClip";
}

Array ravel_multi_index(std::vector<Array> indices, Shape shape, IndexMode mode, Loc loc) {
  const Call call{"ravel_multi_index", loc};
  const base::Shape& sizes = shape.dims();
  if (indices.size() != sizes.size() || sizes.empty())
    FailShape(call, 17,
              fmt::format("there are indices of {} dims, not {}", indices.size(), sizes.size()));
  return AsOne(call, {{"indices", indices}, shape, mode}, [&](std::vector<Array> xs) -> Array {
    Located number(zeros({}, {.dtype = TypeOf(xs[0])->dtype()}, loc), loc);
    for (size_t d = 0; d < sizes.size(); ++d) {
      const Operand size(sizes[d], loc), last(sizes[d] - 1, loc), zero(0, loc);
      const Array own =
          mode == IndexMode::kWrap ? remainder(xs[d], size, {}, loc) : clip(xs[d], zero, last, loc);
      number = number * sizes[d] + number.With(own);
    }
    return number;
  });
}

Array diagflat(Operand x, int64_t k, Loc loc) {
  const Call call{"diagflat", loc};
  return AsOne(call, {x, k}, [&](const Operand& operand) {
    return diag(Flat(ToArray(operand, call), call), k, {}, loc);
  });
}

namespace {
// Returns x with the numbers that differ from an integer by rounding only as that integer.
Located Snapped(const Located& x) {
  const Located whole = x.With(round(x, {}, x.loc()));
  return If(Abs(x - whole) <= 1e-13 * Abs(whole), whole, x);
}
}  // namespace

// The logarithms are spaced evenly; the ends are the bounds themselves.
Array geomspace(Operand lo, Operand hi, int64_t n, LinspaceOptions options, Loc loc) {
  const Call call{"geomspace", loc};
  return AsOne(call, {{"lo", lo}, {"hi", hi}, n, options},
               [&](const Operand& low, const Operand& high) -> Array {
                 const DType given = FloatOf(PromotedDType({low, high}, call));
                 const DType t = options.dtype.is_default() ? given : options.dtype;
                 const DType wide = given.is_complex() ? c128 : f64;
                 const Located a(StrongOf(low, wide, call), loc),
                     b(StrongOf(high, wide, call), loc);
                 const Located sign = Sign(a);
                 LogspaceOptions even{.dtype = wide};
                 even.out_sharding = options.out_sharding;
                 even.endpoint = options.endpoint;
                 const Array from = log10(a / sign, loc), to = log10(b / sign, loc);
                 Array whole = sign * a.With(logspace(from, to, n, even, loc));
                 if (n > 0) whole = whole.at(0).set(a, {}, loc);
                 if (n > 1 && options.endpoint) whole = whole.at(-1).set(b, {}, loc);
                 return Convert(t.is_inexact() ? whole : Array(Snapped(a.With(whole))), t, call);
               });
}

}  // namespace tessera

// Matrices of a form, and linear equations of arrays of more dims.
#include <fmt/format.h>

#include <algorithm>

#include "api/core/edits.h"
#include "api/core/option_fields.h"
#include "api/linalg/formulas.h"
#include "base/dtype.h"
#include "ops/check.h"
#include "tessera/linalg.h"
#include "tessera/lookup.h"

namespace tessera::linalg {

using namespace api;

Array block_diag(std::vector<Array> matrices, Loc loc) {
  const Call call{"block_diag", loc};
  if (matrices.empty()) return zeros({1, 0}, {}, loc);
  return AsOne(call, {matrices}, [&](const std::vector<Array>& given) {
    const MatrixFormulas f(call);
    const DType t = PromotedDType(OperandsAt(given, loc), call);
    std::vector<Array> blocks;
    int64_t columns = 0;
    for (const Array& x : given) {
      if (Rank(x) > 2) FailShape(call, 11, fmt::format("a matrix has rank 2, not {}", Rank(x)));
      base::Shape shape = ShapeOf(x);
      shape.insert(shape.begin(), 2 - shape.size(), 1);
      blocks.push_back(Reshape(Convert(x, t, call), shape, call));
      columns += shape[1];
    }
    int64_t before = 0;
    for (Array& block : blocks) {
      const int64_t own = ColumnsOf(block);
      block = pad(block, {{0, 0}, {before, columns - before - own}}, f.NumberLike(block, 0), loc);
      before += own;
    }
    return concatenate(std::move(blocks), 0, loc);
  });
}

namespace {

// Element [i, j] is number n - 1 + i - j of the reversed row, without its first element, and then
// the column.
Array ToeplitzOf(const Array& c, const Array& r, Call call) {
  const MatrixFormulas f(call);
  const Loc loc = call.loc;
  const int64_t m = ShapeOf(c).back(), n = ShapeOf(r).back();
  base::Shape batch = BatchOf(c, 1);
  if (!BroadcastWith(batch, BatchOf(r, 1)))
    FailShape(call, 18,
              fmt::format("batch dims {} and {} do not broadcast", ops::ShapeText(BatchOf(c, 1)),
                          ops::ShapeText(BatchOf(r, 1))));
  const Array column = f.WithBatch(c, batch, 1), row = f.WithBatch(r, batch, 1);
  if (m == 0 || n == 0) return f.Mul(f.Column(column), f.Row(row));
  const Array all = concatenate({flip(f.Slice(row, 1, 1, n), -1, loc), column}, -1, loc);
  const auto index = [&](int dim) { return iota({m, n}, dim, {.dtype = i32}, loc); };
  const Array at = f.Sub(f.Add(index(0), StrongScalar(n - 1, i32, call)), index(1));
  return take(all, at, -1, {}, loc);
}

}  // namespace

Array toeplitz(Operand c, std::optional<Operand> r, Loc loc) {
  const Call call{"toeplitz", loc};
  if (!r)
    return AsOne(call, {c}, [&](const Operand& x) {
      const Array column = ToVectors(ToArray(x, call), call);
      return ToeplitzOf(column, conj(column, loc), call);
    });
  return AsOne(call, {c, *r}, [&](const Operand& x, const Operand& y) {
    const DType t = PromotedDType({x, y}, call);
    const auto vectors = [&](const Operand& v) {
      return ToVectors(Convert(ToArray(v, call), t, call), call);
    };
    return ToeplitzOf(vectors(x), vectors(y), call);
  });
}

Array hilbert(int64_t n, Loc loc) {
  const Call call{"hilbert", loc};
  return AsOne(call, {n}, [&](const Operands&) {
    const MatrixFormulas f(call);
    CheckShape({n, n}, call);
    const Array row = iota({n, 1}, 0, {.dtype = base::DefaultFloat()}, loc);
    const Array one = f.NumberLike(row, 1);
    return std::vector<Array>{f.Div(one, f.Add(f.Add(row, f.Transposed(row)), one))};
  })[0];
}

namespace {

int64_t SizeOf(base::Shape::const_iterator begin, base::Shape::const_iterator end) {
  int64_t size = 1;
  for (; begin != end; ++begin) size *= *begin;
  return size;
}

}  // namespace

Array tensorinv(Operand a, int ind, Loc loc) {
  const Call call{"tensorinv", loc};
  return AsOne(call, {a, ind}, [&](const Operand& operand) {
    const Array x = ToFloat(operand, call);
    if (ind < 1 || ind > Rank(x))
      FailShape(call, 14, fmt::format("ind must be from 1 to the rank {}, not {}", Rank(x), ind));
    const base::Shape& shape = ShapeOf(x);
    const auto middle = shape.begin() + ind;
    const int64_t rows = SizeOf(shape.begin(), middle), columns = SizeOf(middle, shape.end());
    if (rows != columns)
      FailShape(call, 15,
                fmt::format("the first {} dims have together {} elements, and the others {}", ind,
                            rows, columns));
    base::Shape made(middle, shape.end());
    made.insert(made.end(), shape.begin(), middle);
    return Reshape(inv(Reshape(x, {rows, columns}, call), loc), made, call);
  });
}

static std::string Code(const TensorSolveOptions& v) {
  return OptionFields().Add("dims", std::vector<int64_t>(v.dims.begin(), v.dims.end()), {}).code();
}

Array tensorsolve(Operand a, Operand b, TensorSolveOptions options, Loc loc) {
  const Call call{"tensorsolve", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& left, const Operand& right) {
    const DType t = FloatOf(PromotedDType({left, right}, call));
    Array x = Convert(ToArray(left, call), t, call);
    const Array y = Convert(ToArray(right, call), t, call);
    std::vector<int64_t> order, last;
    for (int dim : options.dims) last.push_back(NormalDim(dim, Rank(x), call));
    for (int64_t d = 0; d < Rank(x); ++d)
      if (std::find(last.begin(), last.end(), d) == last.end()) order.push_back(d);
    order.insert(order.end(), last.begin(), last.end());
    if (static_cast<int64_t>(order.size()) != Rank(x)) FailShape(call, 14, "a dim is named twice");
    x = transpose(x, order, loc);
    const base::Shape &shape = ShapeOf(x), &side = ShapeOf(y);
    const bool fits =
        side.size() <= shape.size() && std::equal(side.begin(), side.end(), shape.begin());
    const base::Shape made(fits ? shape.begin() + static_cast<long>(side.size()) : shape.begin(),
                           shape.end());
    const int64_t rows = SizeOf(side.begin(), side.end());
    if (!fits || rows != SizeOf(made.begin(), made.end()))
      FailShape(call, 15,
                fmt::format("a must have the dims of b and then others with as many elements; a "
                            "has {}, b has {}",
                            ops::ShapeText(shape), ops::ShapeText(side)));
    return Reshape(solve(Reshape(x, {rows, rows}, call), Reshape(y, {rows}, call), {}, loc), made,
                   call);
  });
}

}  // namespace tessera::linalg

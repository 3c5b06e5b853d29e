// NumPy's triangles, diagonals and products of matrices.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "api/core/call_modes.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "ops/params.h"
#include "trace/apply.h"

namespace tessera {

using namespace api;

namespace {

using sharding::TensorSharding;

// Applies an op whose result may have any sharding, such as an iota, with the sharding `out`.
Array Make(const ir::OpDef& op, ir::ParamsPtr params, const std::vector<Array>& operands,
           const ir::ShapeAndDType& wanted, const TensorSharding& out, Call call) {
  trace::Application a{.op = op,
                       .params = std::move(params),
                       .operands = {},
                       .wanted = &wanted,
                       .loc = call.loc,
                       .shown_as = call.name};
  for (const Array& x : operands) a.operands.push_back(trace::Use(x, call.name, call.loc));
  if (out.mesh) a.out_sharding = &out;
  return trace::Apply(a)[0];
}

using Compare = Array (*)(Operand, Operand, OutOptions, Loc);

// Returns compare(row + k, column), a mask [rows, columns]. Each device computes its own shard.
Array Band(int64_t rows, int64_t columns, int64_t k, const TensorSharding& layout, Compare compare,
           Call call) {
  DType t = std::max(rows, columns) < int64_t{1} << 30 ? i32 : i64;
  auto index = [&](int64_t dim, const base::Shape& shape) {
    TensorSharding own = layout;
    base::At(own.dims, 1 - dim).axes.clear();
    return Make(ops::kIota, ir::MakeParams(ops::IotaParams{{dim}}), {}, {shape, t}, own, call);
  };
  Array row = index(0, {rows, 1}), column = index(1, {1, columns});
  // A larger |k| puts all elements on the same side, and could overflow.
  Array offset = StrongScalar(std::clamp(k, -rows, columns), t, call);
  return compare(add(row, offset, {}, call.loc), column, {}, call.loc);
}

Array ZeroLike(const Array& x, Call call) { return StrongScalar(0, TypeOf(x)->dtype(), call); }

// Returns x with elements set to 0 unless compare(i + k, j), where i and j are the indices along d1
// and d2.
Array Masked(const Array& x, int64_t d1, int64_t d2, int64_t k, Compare compare, Call call) {
  const TensorSharding& s = TypeOf(x)->sharding();
  TensorSharding matrix = sharding::Replicated(s.mesh, 2);
  if (s.mesh) {
    matrix.dims[0] = base::At(s.dims, d1);
    matrix.dims[1] = base::At(s.dims, d2);
  }
  Array mask = Band(base::At(ShapeOf(x), d1), base::At(ShapeOf(x), d2), k, matrix, compare, call);
  if (d1 > d2) mask = transpose(mask, All, call.loc);
  TensorSharding layout = s;
  layout.unreduced.clear();
  layout.reduced.clear();
  if (Rank(x) > 2) {
    ops::BroadcastParams dims{{std::min(d1, d2), std::max(d1, d2)}};
    mask = Make(ops::kBroadcastInDim, ir::MakeParams(std::move(dims)), {mask},
                {ShapeOf(x), DType{}}, layout, call);
  }
  return where(mask, x, ZeroLike(x, call), {}, call.loc);
}

Array Triangle(const Operand& x, int64_t k, Compare compare, Call call) {
  Array a = ToArray(x, call);
  if (Rank(a) < 2) FailShape(call, 11, fmt::format("a matrix has rank 2 or more, not {}", Rank(a)));
  return Masked(a, Rank(a) - 2, Rank(a) - 1, k, compare, call);
}

struct DimPair {
  int64_t first, second;
};

DimPair MatrixDims(const Array& x, int dim1, int dim2, Call call) {
  if (Rank(x) < 2) FailShape(call, 11, fmt::format("a matrix has rank 2 or more, not {}", Rank(x)));
  DimPair d{NormalDim(dim1, Rank(x), call), NormalDim(dim2, Rank(x), call)};
  if (d.first == d.second) FailShape(call, 12, fmt::format("dim {} is named twice", d.first));
  return d;
}

}  // namespace

Array tril(Operand x, int64_t k, Loc loc) {
  const Call call{"tril", loc};
  return AsOne(call, {x, k}, [&](const Operand& a) { return Triangle(a, k, ge, call); });
}
Array triu(Operand x, int64_t k, Loc loc) {
  const Call call{"triu", loc};
  return AsOne(call, {x, k}, [&](const Operand& a) { return Triangle(a, k, le, call); });
}

// ---- diagonals ----

namespace {

// Returns the diagonal of a square [..., n, n]: every (n+1)-th element of each matrix.
Array StridedDiagonal(const Array& square, Call call) {
  base::Shape shape = ShapeOf(square);
  int64_t n = shape.back();
  shape.pop_back();
  shape.back() = n * n;
  Array flat = Reshape(square, shape, call);
  base::Shape starts(shape.size(), 0), strides(shape.size(), 1);
  strides.back() = n + 1;
  return slice(flat, starts, shape, strides, call.loc);
}

// Returns the diagonal of [..., n, m]: sets all other elements to 0 and sums along a dim. The
// matrix is not moved; devices exchange at most n or m elements.
Array SummedDiagonal(const Array& x, int64_t k, int64_t size, Call call) {
  int64_t column = Rank(x) - 1, row = column - 1;
  Array masked = Masked(x, row, column, k, eq, call);
  const ir::OpDef& op = TypeOf(x)->dtype().is_bool() ? ops::kReduceOr : ops::kReduceSum;
  int64_t summed = size == ShapeOf(x).back() ? row : column;
  Array line = Run(op, ir::MakeParams(ops::DimsParams{{summed}}), {masked}, call);
  if (ShapeOf(line).back() == size) return line;
  TensorSharding whole = TypeOf(line)->sharding();
  if (whole.mesh && !whole.dims.back().axes.empty()) {
    whole.dims.back().axes.clear();
    line = reshard(line, sharding::ToSpec(whole), call.loc);
  }
  base::Shape starts(ShapeOf(line).size(), 0), limits = ShapeOf(line);
  starts.back() = std::max<int64_t>(-k, 0);
  limits.back() = starts.back() + size;
  return slice(line, starts, limits, {}, call.loc);
}

Array Diagonal(const Operand& x, const DiagonalOptions& options, Call call) {
  const Loc loc = call.loc;
  Array a = ToArray(x, call);
  DimPair d = MatrixDims(a, options.dim1, options.dim2, call);
  a = moveaxis(a, {d.first, d.second}, {-2, -1}, loc);
  const ir::Type& type = *TypeOf(a);
  const sharding::MeshDef* mesh = type.mesh();
  auto row = base::Size(type.rank()) - 2, column = row + 1;
  bool sharded = mesh && !(type.sharding().dims[row].axes.empty() &&
                           type.sharding().dims[column].axes.empty());
  if (sharded && !options.out_sharding)
    FailSharding(call, 5, fmt::format("the diagonal runs over sharded dims: {}", type.text()));
  base::Shape starts(type.shape().size(), 0), limits = type.shape();
  int64_t k = std::clamp(options.offset, -limits[row], limits[column]);
  starts[row] = std::max<int64_t>(-k, 0);
  starts[column] = std::max<int64_t>(k, 0);
  int64_t size = std::min(limits[row] - starts[row], limits[column] - starts[column]);
  limits[row] = starts[row] + size;
  limits[column] = starts[column] + size;
  bool whole = !sharded && !(mesh && mesh->has_mode(AxisMode::Auto));
  Array line = whole ? StridedDiagonal(slice(a, starts, limits, {}, loc), call)
                     : SummedDiagonal(a, k, size, call);
  return options.out_sharding ? reshard(line, *options.out_sharding, loc) : line;
}

}  // namespace

Array diagonal(Operand x, DiagonalOptions options, Loc loc) {
  const Call call{"diagonal", loc};
  return AsOne(call, {x, options}, [&](const Operand& a) { return Diagonal(a, options, call); });
}

Array diag(Operand x, int64_t k, OutOptions options, Loc loc) {
  Call call{"diag", loc};
  return AsOne(call, {x, k, options}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    if (Rank(a) == 2) return Diagonal(a, {.offset = k, .out_sharding = options.out_sharding}, call);
    if (Rank(a) != 1) FailShape(call, 11, fmt::format("it takes rank 1 or 2, not {}", Rank(a)));
    if (k != 0)
      a = pad(a, {{std::max<int64_t>(-k, 0), std::max<int64_t>(k, 0)}}, ZeroLike(a, call), loc);
    int64_t n = ShapeOf(a)[0];
    const TensorSharding& s = TypeOf(a)->sharding();
    TensorSharding matrix = sharding::Replicated(s.mesh, 2);
    if (s.mesh) matrix.dims[0] = s.dims[0];
    Array mask = Band(n, n, k, matrix, eq, call);
    return where(mask, Reshape(a, {n, 1}, call), ZeroLike(a, call), options, loc);
  });
}

Array matrix_trace(Operand x, TraceOptions options, Loc loc) {
  Call call{"matrix_trace", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    DimPair d = MatrixDims(a, options.dim1, options.dim2, call);
    Array masked = Masked(a, d.first, d.second, options.offset, eq, call);
    return sum(masked, {d.first, d.second},
               {.dtype = options.dtype, .out_sharding = options.out_sharding}, loc);
  });
}

// ---- products ----

Array outer(Operand a, Operand b, OutOptions options, Loc loc) {
  Call call{"outer", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    Array x = ToArray(lhs, call), y = ToArray(rhs, call);
    return mul(reshape(x, {-1, 1}, {}, loc), reshape(y, {1, -1}, {}, loc), options, loc);
  });
}

Array inner(Operand a, Operand b, DotOptions options, Loc loc) {
  Call call{"inner", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    Array x = ToArray(lhs, call), y = ToArray(rhs, call);
    if (Rank(x) > 0 && Rank(y) > 0)
      return tensordot(x, y, DotDims{.lhs_contract = {-1}, .rhs_contract = {-1}}, options, loc);
    if (!options.dtype.is_default()) {
      x = Convert(x, options.dtype, call);
      y = Convert(y, options.dtype, call);
    }
    return mul(x, y, {options.out_sharding}, loc);
  });
}

// Arrays of one shape are contracted without flattening, so any sharding of their dims is allowed.
Array vdot(Operand a, Operand b, DotOptions options, Loc loc) {
  Call call{"vdot", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    Array x = ToArray(lhs, call), y = ToArray(rhs, call);
    if (TypeOf(x)->elements() != TypeOf(y)->elements())
      FailShape(call, 18,
                fmt::format("{} and {} have different numbers of elements", TypeOf(x)->text(),
                            TypeOf(y)->text()));
    x = conj(x, loc);
    if (ShapeOf(x) == ShapeOf(y)) return tensordot(x, y, static_cast<int>(Rank(x)), options, loc);
    return tensordot(ravel(x, {}, loc), ravel(y, {}, loc), 1, options, loc);
  });
}

namespace {
// Interleaves the dims of x and y, multiplies by broadcasting, and joins each pair of dims.
Array Kron(const Array& x, const Array& y, Call call) {
  auto rank = base::Size(std::max(Rank(x), Rank(y)));
  auto spread = [&](const Array& of, size_t first) {
    base::Shape own(rank - ShapeOf(of).size(), 1), shape(2 * rank, 1);
    own.insert(own.end(), ShapeOf(of).begin(), ShapeOf(of).end());
    for (size_t d = 0; d < rank; ++d) shape[2 * d + first] = own[d];
    return std::pair(own, Reshape(of, shape, call));
  };
  auto [own_x, spread_x] = spread(x, 0);
  auto [own_y, spread_y] = spread(y, 1);
  for (size_t d = 0; d < rank; ++d) own_x[d] *= own_y[d];
  return reshape(mul(spread_x, spread_y, {}, call.loc), own_x, {}, call.loc);
}
}  // namespace

Array kron(Operand a, Operand b, OutOptions options, Loc loc) {
  Call call{"kron", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    const InsideAutoAxes product = [&](const std::vector<Array>& xs) {
      return std::vector{Kron(xs[0], xs[1], call)};
    };
    const std::vector<Array> xs{ToArray(lhs, call), ToArray(rhs, call)};
    if (!options.out_sharding) return product(xs)[0];
    return InAutoAxes(xs, *options.out_sharding, product, call)[0];
  });
}

Array tridiagonal_solve(Operand dl, Operand d, Operand du, Operand b, Loc loc) {
  Call call{"tridiagonal_solve", loc};
  std::vector<Array> operands;
  for (const Operand* o : {&dl, &d, &du, &b}) operands.push_back(ToArray(*o, call));
  return Run(ops::kTridiagonalSolve, nullptr, operands, call);
}

}  // namespace tessera

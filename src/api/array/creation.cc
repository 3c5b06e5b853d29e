// Arrays from numbers: filled, counted and evenly spaced arrays, grids and one-hot vectors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/core/located.h"
#include "api/core/manual_axes.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/dtype.h"
#include "ops/params.h"

namespace tessera {

using namespace api;

namespace {

// Returns the spec without its unreduced and reduced axes.
std::optional<PartitionSpec> OnlyDims(const std::optional<PartitionSpec>& spec) {
  if (!spec) return spec;
  return PartitionSpec(spec->dims());
}

// Reshards an array that was created with OnlyDims(spec) to `spec`.
Array WithReductions(const Array& x, const std::optional<PartitionSpec>& spec, Loc loc) {
  return spec == OnlyDims(spec) ? x : reshard(x, *spec, loc);
}

Array Create(Shape shape, Operand value, CreateOptions options, Call call) {
  CheckShape(shape.dims(), call);
  Array v;
  if (value.scalar()) {
    DType t = options.dtype;
    if (t.is_default()) t = DefaultOf(value.scalar()->kind());
    bool truncates =
        !options.dtype.is_default() && t.is_integer() && value.scalar()->kind() == Scalar::kFloat;
    v = truncates ? Convert(ToArray(value, call), t, call) : StrongScalar(*value.scalar(), t, call);
  } else {
    v = ToArray(value, call);
    if (!options.dtype.is_default()) v = Convert(v, options.dtype, call);
  }
  return broadcast_to(v, shape, {.out_sharding = options.out_sharding}, call.loc);
}

// Returns `value` in the shape of x. The options' sharding and dtype default to those of x.
Array FilledLike(const Operand& x, Operand value, CreateOptions options, Call call) {
  Array a = ToArray(x, call);
  const bool as_x = options.dtype.is_default();
  DType t = as_x ? TypeOf(a)->dtype() : options.dtype;
  Array v = !value.scalar() ? Convert(ToArray(value, call), t, call)
            : as_x          ? ScalarLike(*value.scalar(), TypeOf(a), call)
                            : StrongScalar(*value.scalar(), t, call);
  if (options.out_sharding)
    return broadcast_to(v, ShapeOf(a), {.out_sharding = options.out_sharding}, call.loc);
  sharding::TensorSharding s = TypeOf(a)->sharding();
  if (s.mesh && s.mesh->has_mode(AxisMode::Manual)) {
    // The result varies over the axes over which x varies, but it is not a partial sum.
    if (!s.varying.empty()) v = AsVarying(v, s.varying, call);
    s.unreduced.clear();
    s.reduced.clear();
    s.kind = Reduction::kSum;
  }
  return Filled(v, ShapeOf(a), s, call);
}

Array CreateNumber(const Shape& shape, int value, CreateOptions options, Call call) {
  return AsOne(call, {shape, options}, [&](const Operands&) {
    CreateOptions made = options;
    if (made.dtype.is_default()) made.dtype = base::DefaultFloat();
    return Create(shape, Operand(value, call.loc), made, call);
  });
}

Array LikeNumber(const Operand& x, int value, CreateOptions options, Call call) {
  return AsOne(call, {x, options}, [&](const Operand& like) {
    return FilledLike(like, Operand(value, call.loc), options, call);
  });
}

}  // namespace

Array zeros(Shape shape, CreateOptions options, Loc loc) {
  return CreateNumber(std::move(shape), 0, options, {"zeros", loc});
}
Array ones(Shape shape, CreateOptions options, Loc loc) {
  return CreateNumber(std::move(shape), 1, options, {"ones", loc});
}
Array full(Shape shape, Operand value, CreateOptions options, Loc loc) {
  const Call call{"full", loc};
  return AsOne(call, {shape, {"value", value}, options},
               [&](const Operand& v) { return Create(shape, v, options, call); });
}
Array zeros_like(Operand x, CreateOptions options, Loc loc) {
  return LikeNumber(x, 0, options, {"zeros_like", loc});
}
Array ones_like(Operand x, CreateOptions options, Loc loc) {
  return LikeNumber(x, 1, options, {"ones_like", loc});
}
Array full_like(Operand x, Operand value, CreateOptions options, Loc loc) {
  const Call call{"full_like", loc};
  return AsOne(
      call, {{"operand", x}, {"value", value}, options},
      [&](const Operand& like, const Operand& v) { return FilledLike(like, v, options, call); });
}

Array iota(Shape shape, int dim, CreateOptions options, Loc loc) {
  Call call{"iota", loc};
  CheckShape(shape.dims(), call);
  if (const DType t = options.dtype; t.is_complex()) {
    options.dtype = base::PartOf(t);
    return AsOne(call, {shape, dim, options},
                 [&](const Operands&) { return Convert(iota(shape, dim, options, loc), t, call); });
  }
  auto rank = static_cast<int>(shape.dims().size());
  ir::ShapeAndDType wanted{shape.dims(),
                           options.dtype.is_default() ? base::DefaultInt() : options.dtype};
  const ir::ParamsPtr params = ir::MakeParams(ops::IotaParams{{NormalDim(dim, rank, call)}});
  return AsOne(call, {shape, dim, options}, [&](const Operands&) {
    std::optional<PartitionSpec> dims = OnlyDims(options.out_sharding);
    Array index =
        Run(ops::kIota, params, {}, call, {.wanted = &wanted, .out_sharding = dims, .rank = rank});
    return WithReductions(index, options.out_sharding, loc);
  });
}

Array arange(Scalar stop, CreateOptions options, Loc loc) {
  return arange(Scalar(0), stop, Scalar(1), options, loc);
}
Array arange(Scalar start, Scalar stop, CreateOptions options, Loc loc) {
  return arange(start, stop, Scalar(1), options, loc);
}
Array arange(Scalar start, Scalar stop, Scalar step, CreateOptions options, Loc loc) {
  Call call{"arange", loc};
  for (const Scalar& number : {start, stop, step})
    if (number.kind() == Scalar::kComplex) FailDType(call, 14, "a range has real bounds");
  bool floats = start.kind() == Scalar::kFloat || stop.kind() == Scalar::kFloat ||
                step.kind() == Scalar::kFloat;
  DType t = !options.dtype.is_default() ? options.dtype
            : floats                    ? base::DefaultFloat()
                                        : base::DefaultInt();
  if (step.as_double() == 0) FailShape(call, 17, "the step is 0");
  double count =
      std::max(0.0, std::ceil((stop.as_double() - start.as_double()) / step.as_double()));
  if (!(count < 1e15)) FailShape(call, 2, "the range is infinite");
  const double last = start.as_double() + (count - 1) * step.as_double();
  for (double end : {start.as_double(), last})
    if (count > 0 && t.is_integer() && !FitsInteger(std::trunc(end), t))
      FailDType(call, 16,
                fmt::format("the range from {} to {} does not fit into {}", start.as_double(), last,
                            t.name()));
  // Counts in the result's dtype, or in the default float for float bounds and an integer dtype.
  DType work = t.is_complex()               ? base::PartOf(t)
               : floats && !t.is_floating() ? base::DefaultFloat()
               : t.is_bool()                ? base::DefaultInt()
                                            : t;
  return AsOne(call, {start, stop, step, options}, [&](const Operands&) {
    Array index = iota(Shape(static_cast<int64_t>(count)), 0,
                       {.dtype = work, .out_sharding = OnlyDims(options.out_sharding)}, loc);
    if (step.as_double() != 1) index = mul(index, StrongScalar(step, work, call), {}, loc);
    if (start.as_double() != 0) index = add(index, StrongScalar(start, work, call), {}, loc);
    return WithReductions(Convert(index, t, call), options.out_sharding, loc);
  });
}

Array eye(int64_t n, EyeOptions options, Loc loc) {
  Call call{"eye", loc};
  int64_t m = options.columns.value_or(n);
  if (n < 0 || m < 0)
    FailShape(call, 2,
              fmt::format("the number of {} must be 0 or more, not {}", n < 0 ? "rows" : "columns",
                          n < 0 ? n : m));
  DType t = options.dtype.is_default() ? base::DefaultFloat() : options.dtype;
  return AsOne(call, {n, options}, [&](const Operands&) {
    CreateOptions counting{.dtype = i32, .out_sharding = OnlyDims(options.out_sharding)};
    Array rows = iota({n, m}, 0, counting, loc), cols = iota({n, m}, 1, counting, loc);
    if (options.diagonal != 0) rows = add(rows, StrongScalar(options.diagonal, i32, call), {}, loc);
    return WithReductions(Convert(eq(rows, cols, {}, loc), t, call), options.out_sharding, loc);
  });
}

// Element i of linspace is lo + i * step in f64, as NumPy's, which is exact where steps are: at
// most hi, so that the elements are in order. If lo or hi is an array, the result has a new first
// dim.
namespace {
DType WideFloat(DType t) { return t.is_complex() ? c128 : f64; }

Array Linspace(const Operand& lo, const Operand& hi, int64_t n, const LinspaceOptions& options,
               Call call) {
  const Loc loc = call.loc;
  DType t = options.dtype.is_default() ? FloatOf(PromotedDType({lo, hi}, call)) : options.dtype;
  const DType work = WideFloat(PromotedDType({lo, hi}, call));
  const Located first(StrongOf(lo, work, call), loc), last(StrongOf(hi, work, call), loc);
  base::Shape line(std::max(first.shape().size(), last.shape().size()) + 1, 1);
  line[0] = n;
  const Located number = first.With(
      reshape(iota(Shape(n), 0, {.dtype = i32, .out_sharding = options.out_sharding}, loc),
              Shape(line), {}, loc));
  const Located index = first.With(Convert(number, first.dtype(), call));
  const auto steps = static_cast<double>(std::max<int64_t>(options.endpoint ? n - 1 : n, 1));
  const Located all = last - first, step = all / steps;
  // A step that is too small for the dtype is divided last.
  Located points = first + If(step == 0, index / steps * all, index * step);
  if (!first.dtype().is_complex()) {
    const Located is_beyond = ((all >= 0) & (points > last)) | ((all < 0) & (points < last));
    points = If(is_beyond, last, points);
  }
  if (n > 1 && options.endpoint) points = If(number == n - 1, last, points);
  if (!t.is_inexact()) points = Floor(points);
  return Convert(points, t, call);
}
}  // namespace

Array linspace(Operand lo, Operand hi, int64_t n, LinspaceOptions options, Loc loc) {
  Call call{"linspace", loc};
  if (n < 0) FailShape(call, 2, fmt::format("the number of points must be 0 or more, not {}", n));
  return AsOne(call, {{"lo", lo}, {"hi", hi}, n, options}, [&](const Operand& a, const Operand& b) {
    return Linspace(a, b, n, options, call);
  });
}

Array logspace(Operand lo, Operand hi, int64_t n, LogspaceOptions options, Loc loc) {
  Call call{"logspace", loc};
  return AsOne(call, {{"lo", lo}, {"hi", hi}, n, options}, [&](const Operand& a, const Operand& b) {
    DType t = options.dtype.is_default() ? FloatOf(PromotedDType({a, b}, call)) : options.dtype;
    LinspaceOptions even{WideFloat(t), options.out_sharding, options.endpoint};
    Array powers = pow(Operand(options.base, loc), linspace(a, b, n, even, loc), {}, loc);
    return Convert(powers, t, call);
  });
}

std::vector<Array> meshgrid(std::vector<Array> xs, MeshgridOptions options, Loc loc) {
  Call call{"meshgrid", loc};
  bool xy = options.indexing == "xy";
  if (!xy && options.indexing != "ij")
    FailShape(call, 17,
              fmt::format(".indexing must be \"xy\" or \"ij\", not \"{}\"", options.indexing));
  base::Shape shape;
  for (const Array& x : xs) {
    trace::Use(x, call.name, loc);
    if (TypeOf(x)->rank() != 1)
      FailShape(call, 11, fmt::format("the arrays must have rank 1, not {}", TypeOf(x)->rank()));
    shape.push_back(options.sparse ? 1 : ShapeOf(x)[0]);
  }
  bool swapped = xy && xs.size() > 1;
  if (swapped) std::swap(shape[0], shape[1]);
  return AsOne(call, {xs, options}, [&](std::vector<Array> lines) {
    for (size_t i = 0; i < lines.size(); ++i) {
      size_t d = swapped && i < 2 ? 1 - i : i;
      base::Shape own = shape;
      own[d] = ShapeOf(lines[i])[0];
      lines[i] = broadcast_in_dim(lines[i], own, static_cast<int>(d), {options.out_sharding}, loc);
    }
    return lines;
  });
}

namespace {
Array OneHot(const Operand& x, int64_t n, const OneHotOptions& options, Call call) {
  Array a = ToArray(x, call);
  DType index = TypeOf(a)->dtype();
  int64_t rank = TypeOf(a)->rank() + 1, d = NormalDim(options.dim, rank, call);
  base::Shape line(base::Size(rank), 1), column = ShapeOf(a);
  base::At(line, d) = n;
  column.insert(column.begin() + d, 1);
  ir::ShapeAndDType counting{line, index};
  std::optional<PartitionSpec> along;
  if (options.out_sharding) {
    std::vector<DimSharding> dims(base::Size(d) + 1);
    if (options.out_sharding->rank() > d) dims.back() = base::At(options.out_sharding->dims(), d);
    along = PartitionSpec(std::move(dims));
  }
  Array classes = Run(ops::kIota, ir::MakeParams(ops::IotaParams{{d}}), {}, call,
                      {.wanted = &counting, .out_sharding = along, .rank = static_cast<int>(rank)});
  Array hit =
      eq(Reshape(a, column, call), classes, {.out_sharding = options.out_sharding}, call.loc);
  return Convert(hit, options.dtype.is_default() ? base::DefaultFloat() : options.dtype, call);
}
}  // namespace

Array one_hot(Operand x, int64_t n, OneHotOptions options, Loc loc) {
  Call call{"one_hot", loc};
  if (n < 0) FailShape(call, 18, fmt::format("the number of classes must be 0 or more, not {}", n));
  return AsOne(call, {x, n, options},
               [&](const Operand& a) { return OneHot(a, n, options, call); });
}

}  // namespace tessera

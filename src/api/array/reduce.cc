// NumPy's and strict reductions, and cumulative reductions.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <limits>

#include "api/array/apply_elementwise.h"
#include "api/array/reductions.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "base/dtype.h"
#include "ops/params.h"

namespace tessera {

using namespace api;

namespace {

// Returns the dtype for sums and products. Bools and ints narrower than the default int widen
// to it.
DType SumDType(DType t) {
  if (t.is_inexact()) return t;
  DType d = base::DefaultInt();
  if (t.is_unsigned()) d = d == i64 ? u64 : d == i32 ? u32 : t;
  return t.is_bool() || t.bits() < d.bits() ? d : t;
}

Array Summed(const ir::OpDef& op, const Operand& x, const Dims& dims, const ReduceOptions& o,
             Call call) {
  Array a = ToArray(x, call);
  DType t = o.dtype.is_default() ? SumDType(TypeOf(a)->dtype()) : o.dtype;
  a = Convert(a, t, call);
  // In dtype bool a sum is `or` and a product is `and`.
  const ir::OpDef& used = !t.is_bool()              ? op
                          : &op == &ops::kReduceSum ? ops::kReduceOr
                                                    : ops::kReduceAnd;
  return Reduce(a, {used, NormalDims(dims, TypeOf(a)->rank(), call), o.keepdims, o.out_sharding},
                call);
}

Array Extreme(const ir::OpDef& op, const Operand& x, const Dims& dims, const ReduceOptions& o,
              Call call) {
  Array a = ToArray(x, call);
  if (!o.dtype.is_default()) a = Convert(a, o.dtype, call);
  std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
  for (int64_t k : d)
    if (base::At(ShapeOf(a), k) == 0)
      FailShape(call, 18,
                fmt::format("dim {} is empty: there is no largest or smallest element", k));
  return Reduce(a, {op, d, o.keepdims, o.out_sharding}, call);
}

Array Logical(const ir::OpDef& op, const Operand& x, const Dims& dims, const ReduceOptions& o,
              Call call) {
  const Array a = ToBool(x, call);
  return Reduce(a, {op, NormalDims(dims, TypeOf(a)->rank(), call), o.keepdims, o.out_sharding},
                call);
}

// Returns the dtype in which means are summed: f32 for narrower floats.
DType WideDType(DType t) { return t.is_floating() && t.bits() < 32 ? f32 : t; }

Array Strict(const ir::OpDef& op, Operand x, const Dims& dims, const OutOptions& o, Call call) {
  Array a = ToArray(x, call);
  return Reduce(a, {op, NormalDims(dims, TypeOf(a)->rank(), call), false, o.out_sharding}, call);
}

Array Running(const ir::OpDef& op, const Operand& x, int dim, CumOptions o, Call call) {
  Array a = ToArray(x, call);
  if (TypeOf(a)->dtype().is_bool() && !base::StrictTypesActive())
    a = Convert(a, base::DefaultInt(), call);
  int64_t d = NormalDim(dim, TypeOf(a)->rank(), call);
  return Run(op, ir::MakeParams(ops::CumulativeParams{{d}, o.reverse}), {a}, call,
             {.out_sharding = o.out_sharding, .rank = static_cast<int>(TypeOf(a)->rank())});
}

Array Arg(const ir::OpDef& op, Operand x, int dim, const ArgOptions& o, Call call) {
  Array a = ToArray(x, call);
  int64_t d = NormalDim(dim, TypeOf(a)->rank(), call);
  ir::ShapeAndDType wanted{{}, o.dtype.is_default() ? base::DefaultInt() : o.dtype};
  Array y = Run(op, ir::MakeParams(ops::DimParams{{d}}), {a}, call, {.wanted = &wanted});
  if (!o.keepdims) return y;
  base::Shape kept = ShapeOf(a);
  base::At(kept, d) = 1;
  return Reshape(y, kept, call);
}

using ReduceOf = Array (*)(const ir::OpDef&, const Operand&, const Dims&, const ReduceOptions&,
                           Call);

// Runs a reduction that first converts its operand as one call.
Array ReduceAsOne(ReduceOf f, const ir::OpDef& op, const Operand& x, const Dims& dims,
                  ReduceOptions options, Call call) {
  return AsOne(call, {x, dims, options},
               [&](const Operand& a) { return f(op, a, dims, options, call); });
}

}  // namespace

Array sum(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Summed, ops::kReduceSum, x, dims, options, {"sum", loc});
}
Array prod(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Summed, ops::kReduceProd, x, dims, options, {"prod", loc});
}
Array max(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Extreme, ops::kReduceMax, x, dims, options, {"max", loc});
}
Array min(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Extreme, ops::kReduceMin, x, dims, options, {"min", loc});
}
Array any(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Logical, ops::kReduceOr, x, dims, options, {"any", loc});
}
Array all(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Logical, ops::kReduceAnd, x, dims, options, {"all", loc});
}

Array mean(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  Call call{"mean", loc};
  return AsOne(call, {x, dims, options}, [&](const Operand& operand) {
    Array a = ToFloat(operand, call);
    DType t = options.dtype.is_default() ? TypeOf(a)->dtype() : options.dtype;
    a = Convert(a, WideDType(t), call);
    std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
    double n = Count(a, d);
    Array total = Reduce(a, {ops::kReduceSum, d, options.keepdims, options.out_sharding}, call);
    return Convert(div(total, StrongScalar(n, WideDType(t), call), {}, loc), t, call);
  });
}

// The variance takes two passes: the mean, then the mean squared distance from it, which is real.
namespace {
Array VarianceOf(const Operand& x, const Dims& dims, const VarOptions& options, Call call) {
  const Loc loc = call.loc;
  Array a = ToFloat(x, call);
  DType t = options.dtype.is_default() ? TypeOf(a)->dtype() : options.dtype;
  a = Convert(a, WideDType(t), call);
  Array centre = mean(a, dims, {.keepdims = true}, loc);
  Array away = sub(a, centre, {}, loc);
  std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
  double n = Count(a, d) - options.ddof;
  if (n <= 0) n = std::numeric_limits<double>::quiet_NaN();  // too few elements for this ddof
  const bool is_complex = TypeOf(a)->dtype().is_complex();
  Array squares = mul(away, is_complex ? conj(away, loc) : away, {}, loc);
  Array total = Reduce(is_complex ? real(squares, loc) : squares,
                       {ops::kReduceSum, d, options.keepdims, options.out_sharding}, call);
  const DType made = base::PartOf(t);
  return Convert(div(total, StrongScalar(n, WideDType(made), call), {}, loc), made, call);
}
}  // namespace
Array var(Operand x, Dims dims, VarOptions options, Loc loc) {
  const Call call{"var", loc};
  return AsOne(call, {x, dims, options},
               [&](const Operand& a) { return VarianceOf(a, dims, options, call); });
}
Array stddev(Operand x, Dims dims, VarOptions options, Loc loc) {
  const Call call{"stddev", loc};
  return AsOne(call, {x, dims, options},
               [&](const Operand& a) { return sqrt(VarianceOf(a, dims, options, call), loc); });
}

Array ptp(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  const Call call{"ptp", loc};
  return AsOne(call, {x, dims, options}, [&](const Operand& a) {
    return Run(ops::Elementwise(ops::ScalarOp::kSub), nullptr,
               {max(a, dims, options, loc), min(a, dims, options, loc)}, call);
  });
}

Array count_nonzero(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return AsOne({"count_nonzero", loc}, {x, dims, options}, [&](const Operand& a) {
    ReduceOptions counting = options;
    if (counting.dtype.is_default()) counting.dtype = base::DefaultInt();
    return sum(astype(a, bool_, loc), dims, counting, loc);
  });
}

namespace {

// Returns weights of the averaged dims, transposed to the order of these dims in x and with dims of
// size 1 in place of the other dims.
Array AlignedWeights(const Array& weights, const base::Shape& shape,
                     const std::vector<int64_t>& dims, Call call) {
  base::Shape named, spread(shape.size(), 1);
  std::vector<int64_t> order;  // the dims of the weights, in the order of x
  for (size_t d = 0; d < shape.size(); ++d) {
    auto at = absl::c_find(dims, static_cast<int64_t>(d));
    if (at == dims.end()) continue;
    order.push_back(at - dims.begin());
    spread[d] = shape[d];
  }
  for (int64_t d : dims) named.push_back(base::At(shape, d));
  if (ShapeOf(weights) != named)
    FailShape(call, 18,
              fmt::format(
                  "the weights have shape {}, which is neither the shape of the array, {}, nor of "
                  "the averaged dims, {}",
                  ir::FieldText(ShapeOf(weights)), ir::FieldText(shape), ir::FieldText(named)));
  return Reshape(transpose(weights, order, call.loc), spread, call);
}

}  // namespace

Array average(Operand x, Dims dims, AverageOptions options, Loc loc) {
  Call call{"average", loc};
  const auto how = [&] {
    return ReduceOptions{.keepdims = options.keepdims, .out_sharding = options.out_sharding};
  };
  if (!options.weights.is_given())
    return AsOne(call, {x, dims, options},
                 [&](const Operand& a) { return mean(a, dims, how(), loc); });
  const Operand given(options.weights, loc);
  const auto f = [&](const Operand& operand, const Operand& by) {
    Array a = ToArray(operand, call), weights = by.array();
    DType t = FloatOf(PromotedDType({a, weights}, call));
    a = Convert(a, t, call);
    weights = Convert(weights, t, call);
    if (ShapeOf(weights) != ShapeOf(a))
      weights =
          AlignedWeights(weights, ShapeOf(a), NormalDims(dims, TypeOf(a)->rank(), call), call);
    Array total = sum(mul(a, weights, {}, loc), dims, how(), loc);
    return div(total, sum(weights, dims, {.keepdims = options.keepdims}, loc), {}, loc);
  };
  return AsOne(call, {{"operand", x}, Argument::Field("weights", given), dims, options}, f);
}

Array argmax(Operand x, int dim, ArgOptions options, Loc loc) {
  return Arg(ops::kArgmax, x, dim, options, {"argmax", loc});
}
Array argmin(Operand x, int dim, ArgOptions options, Loc loc) {
  return Arg(ops::kArgmin, x, dim, options, {"argmin", loc});
}

Array reduce_sum(Operand x, Dims dims, OutOptions o, Loc loc) {
  return Strict(ops::kReduceSum, x, dims, o, {"reduce_sum", loc});
}
Array reduce_prod(Operand x, Dims dims, OutOptions o, Loc loc) {
  return Strict(ops::kReduceProd, x, dims, o, {"reduce_prod", loc});
}
Array reduce_max(Operand x, Dims dims, OutOptions o, Loc loc) {
  return Strict(ops::kReduceMax, x, dims, o, {"reduce_max", loc});
}
Array reduce_min(Operand x, Dims dims, OutOptions o, Loc loc) {
  return Strict(ops::kReduceMin, x, dims, o, {"reduce_min", loc});
}
Array reduce_and(Operand x, Dims dims, OutOptions o, Loc loc) {
  return Strict(ops::kReduceAnd, x, dims, o, {"reduce_and", loc});
}
Array reduce_or(Operand x, Dims dims, OutOptions o, Loc loc) {
  return Strict(ops::kReduceOr, x, dims, o, {"reduce_or", loc});
}
Array reduce_xor(Operand x, Dims dims, OutOptions o, Loc loc) {
  return Strict(ops::kReduceXor, x, dims, o, {"reduce_xor", loc});
}

Array cumsum(Operand x, int dim, CumOptions o, Loc loc) {
  return Running(ops::kCumsum, x, dim, o, {"cumsum", loc});
}
Array cumprod(Operand x, int dim, CumOptions o, Loc loc) {
  return Running(ops::kCumprod, x, dim, o, {"cumprod", loc});
}
Array cummax(Operand x, int dim, CumOptions o, Loc loc) {
  return Running(ops::kCummax, x, dim, o, {"cummax", loc});
}
Array cummin(Operand x, int dim, CumOptions o, Loc loc) {
  return Running(ops::kCummin, x, dim, o, {"cummin", loc});
}
Array cumlogsumexp(Operand x, int dim, CumOptions o, Loc loc) {
  const Call call{"cumlogsumexp", loc};
  return Running(ops::kCumlogsumexp, ToFloat(x, call), dim, o, call);
}

}  // namespace tessera

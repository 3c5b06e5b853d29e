// NumPy's and strict reductions, and cumulative reductions.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <limits>
#include <mutex>
#include <set>
#include <string>

#include "api/array/apply_elementwise.h"
#include "api/array/reductions.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/fork.h"
#include "ops/params.h"
#include "trace/retrace.h"

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

using Combine = Array (*)(Operand, Operand, OutOptions, Loc);

// Returns `made`, combined with an initial value if there is one.
Array From(const Array& initial, Combine combine, const Array& made, Call call) {
  if (!initial.is_given()) return made;
  if (Rank(initial) != 0)
    FailShape(
        call, 17,
        fmt::format(".initial is a scalar, not of shape {}", ir::FieldText(ShapeOf(initial))));
  return combine(Convert(initial, TypeOf(made)->dtype(), call), made, {}, call.loc);
}

Array Summed(const ir::OpDef& op, const Operand& x, const Dims& dims, const ReduceOptions& o,
             Call call) {
  Array a = ToArray(x, call);
  DType t = o.dtype.is_default() ? SumDType(TypeOf(a)->dtype()) : o.dtype;
  a = Convert(a, t, call);
  // In dtype bool a sum is `or` and a product is `and`.
  const bool is_sum = &op == &ops::kReduceSum;
  const ir::OpDef& used = !t.is_bool() ? op : is_sum ? ops::kReduceOr : ops::kReduceAnd;
  a = Masked(used, a, o.where, call);
  const std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
  return From(o.initial, is_sum ? add : mul, Reduce(a, {used, d, o.keepdims, o.out_sharding}, call),
              call);
}

Array Extreme(const ir::OpDef& op, const Operand& x, const Dims& dims, const ReduceOptions& o,
              Call call) {
  Array a = ToArray(x, call);
  if (!o.dtype.is_default()) a = Convert(a, o.dtype, call);
  std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
  if (!o.initial.is_given()) {
    for (int64_t k : d)
      if (base::At(ShapeOf(a), k) == 0)
        FailShape(call, 18,
                  fmt::format("dim {} is empty: there is no largest or smallest element", k));
    if (o.where.is_given())
      FailShape(call, 18, "with a .where it needs an .initial, in case that no element counts");
  }
  a = Masked(op, a, o.where, call);
  return From(o.initial, &op == &ops::kReduceMax ? maximum : minimum,
              Reduce(a, {op, d, o.keepdims, o.out_sharding}, call), call);
}

Array Logical(const ir::OpDef& op, const Operand& x, const Dims& dims, const ReduceOptions& o,
              Call call) {
  CheckHasNo("initial", o.initial, call);
  const Array a = Masked(op, ToBool(x, call), o.where, call);
  return Reduce(a, {op, NormalDims(dims, TypeOf(a)->rank(), call), o.keepdims, o.out_sharding},
                call);
}

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
  return AsOneWith(call, {{"operand", x}, dims, options},
                   {{"where", &options.where}, {"initial", &options.initial}},
                   [&](const Operands& xs) { return f(op, xs[0], dims, options, call); });
}

// Returns total / (n - ddof), where n elements count; NaN where that is not above 0, if `ddof` is
// given. `x` was summed.
struct Averaged {
  const Array& total;
  const Array& x;
  std::vector<int64_t> dims;
  std::optional<double> ddof = {};
};
template <class Options>
Array Average(const Averaged& a, const Options& options, Call call) {
  const Loc loc = call.loc;
  const DType t = base::PartOf(TypeOf(a.total)->dtype());
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (!options.where.is_given()) {
    double n = Count(a.x, a.dims) - a.ddof.value_or(0);
    if (a.ddof && n <= 0) n = kNan;  // too few elements for this ddof
    return div(a.total, StrongScalar(n, TypeOf(a.total)->dtype(), call), {}, loc);
  }
  Array n = CountWhere(options.where, a.x, {a.dims, options.keepdims}, call);
  if (a.ddof) {
    n = sub(n, StrongScalar(*a.ddof, t, call), {}, loc);
    n = where(gt(n, Operand(0, loc), {}, loc), n, StrongScalar(kNan, t, call), {}, loc);
  }
  return div(a.total, Convert(n, TypeOf(a.total)->dtype(), call),
             {.out_sharding = options.out_sharding}, loc);
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
void detail::NoteDimZero(const char* function, Loc loc) {
  if (!trace::RetraceNotesOn()) return;
  static std::mutex& mutex = base::NewForkMutex();
  static auto& said = *new std::set<std::string>;
  const std::string line = base::Where(loc);
  const std::lock_guard lock(mutex);
  if (!said.insert(line).second) return;
  fmt::print(
      stderr,
      "tessera: {0}: {1}(x, 0) reduces dim 0: {1}imum(x, 0) compares with 0, and {1}(x, {{0}}) "
      "is this call without a note\n"
      "  said once per line; RetraceNotes(false) silences it\n",
      line, function);
}
Array any(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Logical, ops::kReduceOr, x, dims, options, {"any", loc});
}
Array all(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceAsOne(Logical, ops::kReduceAnd, x, dims, options, {"all", loc});
}

Array mean(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  Call call{"mean", loc};
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"where", &options.where}},
                   [&](const Operands& xs) {
                     CheckHasNo("initial", options.initial, call);
                     Array a = ToFloat(xs[0], call);
                     DType t = options.dtype.is_default() ? TypeOf(a)->dtype() : options.dtype;
                     a = Convert(a, WideDType(t), call);
                     std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
                     const Array total =
                         Reduce(Masked(ops::kReduceSum, a, options.where, call),
                                {ops::kReduceSum, d, options.keepdims, options.out_sharding}, call);
                     return Convert(Average({total, a, d}, options, call), t, call);
                   });
}

// The variance takes two passes: the mean, then the mean squared distance from it, which is real.
namespace {
// Returns f(variance), where f has the numbers in the WideDType.
using OfVariance = Array (*)(Operand, Loc);
Array VarianceOf(const Operand& x, const Dims& dims, const VarOptions& options, Call call,
                 OfVariance f = nullptr) {
  const Loc loc = call.loc;
  Array a = ToFloat(x, call);
  DType t = options.dtype.is_default() ? TypeOf(a)->dtype() : options.dtype;
  a = Convert(a, WideDType(t), call);
  Array centre = mean(a, dims, {.keepdims = true, .where = options.where}, loc);
  Array away = Masked(ops::kReduceSum, sub(a, centre, {}, loc), options.where, call);
  std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
  const bool is_complex = TypeOf(a)->dtype().is_complex();
  Array squares = mul(away, is_complex ? conj(away, loc) : away, {}, loc);
  Array total = Reduce(is_complex ? real(squares, loc) : squares,
                       {ops::kReduceSum, d, options.keepdims, options.out_sharding}, call);
  const Array variance = Average({total, a, d, options.ddof}, options, call);
  return Convert(f ? f(variance, loc) : variance, base::PartOf(t), call);
}
}  // namespace
Array var(Operand x, Dims dims, VarOptions options, Loc loc) {
  const Call call{"var", loc};
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"where", &options.where}},
                   [&](const Operands& xs) { return VarianceOf(xs[0], dims, options, call); });
}
Array stddev(Operand x, Dims dims, VarOptions options, Loc loc) {
  const Call call{"stddev", loc};
  return AsOneWith(
      call, {{"operand", x}, dims, options}, {{"where", &options.where}},
      [&](const Operands& xs) { return VarianceOf(xs[0], dims, options, call, sqrt); });
}

Array ptp(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  const Call call{"ptp", loc};
  CheckHasNo("where", options.where, call);
  CheckHasNo("initial", options.initial, call);
  return AsOne(call, {x, dims, options}, [&](const Operand& a) {
    return Run(ops::Elementwise(ops::ScalarOp::kSub), nullptr,
               {max(a, dims, options, loc), min(a, dims, options, loc)}, call);
  });
}

Array count_nonzero(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  const Call call{"count_nonzero", loc};
  CheckHasNo("initial", options.initial, call);
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"where", &options.where}},
                   [&](const Operands& xs) {
                     ReduceOptions counting = options;
                     if (counting.dtype.is_default()) counting.dtype = base::DefaultInt();
                     return sum(astype(xs[0], bool_, loc), dims, counting, loc);
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
  const auto f = [&](const Operands& xs) {
    Array a = ToArray(xs[0], call), weights = options.weights;
    DType t = FloatOf(PromotedDType({a, weights}, call));
    a = Convert(a, WideDType(t), call);
    weights = Convert(weights, WideDType(t), call);
    if (ShapeOf(weights) != ShapeOf(a))
      weights =
          AlignedWeights(weights, ShapeOf(a), NormalDims(dims, TypeOf(a)->rank(), call), call);
    Array total = sum(mul(a, weights, {}, loc), dims, how(), loc);
    const Array count = sum(weights, dims, {.keepdims = options.keepdims}, loc);
    return Convert(div(total, count, {}, loc), t, call);
  };
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"weights", &options.weights}}, f);
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

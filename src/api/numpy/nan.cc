// Reductions of the elements that are not NaN.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/array/between.h"
#include "api/array/reductions.h"
#include "api/array/weighted_quantiles.h"
#include "api/core/call_modes.h"
#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "base/at.h"
#include "base/dtype.h"
#include "tessera/lookup.h"
#include "tessera/sort.h"
#include "tessera/statistics.h"

namespace tessera {

using namespace api;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns x with `instead` in place of NaN.
Array Without(const Array& x, double instead, Call call) {
  if (!TypeOf(x)->dtype().is_inexact()) return x;
  const Located a(x, call.loc);
  return If(IsNan(a), a.With(StrongScalar(instead, TypeOf(x)->dtype(), call)), a);
}
Array IsNumber(const Array& x, Loc loc) { return logical_not(isnan(x, loc), loc); }

using ReduceCall = Array (*)(Operand, Dims, ReduceOptions, Loc);

Array ReduceNumbers(const char* name, ReduceCall f, double instead, const Operand& x,
                    const Dims& dims, ReduceOptions options, Loc loc) {
  const Call call{name, loc};
  return AsOneWith(call, {{"operand", x}, dims, options},
                   {{"where", &options.where}, {"initial", &options.initial}},
                   [&](const Operands& xs) {
                     return f(Without(ToArray(xs[0], call), instead, call), dims, options, loc);
                   });
}

Array Extreme(const char* name, ReduceCall f, double instead, const Operand& x, const Dims& dims,
              ReduceOptions options, Loc loc) {
  const Call call{name, loc};
  const std::initializer_list<ArrayField> fields = {{"where", &options.where},
                                                    {"initial", &options.initial}};
  return AsOneWith(call, {{"operand", x}, dims, options}, fields, [&](const Operands& xs) -> Array {
    const Array a = ToArray(xs[0], call);
    const Array made = f(Without(a, instead, call), dims, options, loc);
    if (!TypeOf(a)->dtype().is_inexact()) return made;
    const Located y(made, loc);
    ReduceOptions how{.keepdims = options.keepdims, .out_sharding = options.out_sharding};
    return If(y.With(all(isnan(a, loc), dims, how, loc)), kNan, y);
  });
}

// Returns the number of elements that are not NaN.
Located CountNumbers(const Array& x, const Dims& dims, const ReduceOptions& how, Loc loc) {
  return {sum(IsNumber(x, loc), dims, how, loc), loc};
}

Array MeanOfNumbers(const Operand& x, const Dims& dims, const ReduceOptions& options, Call call) {
  CheckHasNo("initial", options.initial, call);
  const Array a = ToFloat(x, call);
  const DType t = options.dtype.is_default() ? TypeOf(a)->dtype() : options.dtype;
  ReduceOptions how = options;
  how.dtype = WideDType(t);
  const Located total(sum(Without(a, 0, call), dims, how, call.loc), call.loc);
  return Convert(total / CountNumbers(a, dims, how, call.loc), t, call);
}

// Returns f(variance), where f has the numbers in the WideDType.
Array VarianceOfNumbers(const Operand& x, const Dims& dims, const VarOptions& options, Call call,
                        Located (*f)(const Located&) = nullptr) {
  const Loc loc = call.loc;
  const DType given = TypeOf(ToFloat(x, call))->dtype();
  const DType t = options.dtype.is_default() ? base::PartOf(given) : options.dtype;
  const Array a = ToWide(ToFloat(x, call), call);
  const Located centre(MeanOfNumbers(a, dims, {.keepdims = true, .where = options.where}, call),
                       loc);
  const Located away(Without(Located(a, loc) - centre, 0, call), loc);
  const Located squares = away.With(real(away * away.With(conj(away, loc)), loc));
  const ReduceOptions how{.dtype = WideDType(t),
                          .keepdims = options.keepdims,
                          .out_sharding = options.out_sharding,
                          .where = options.where};
  const Located total(sum(squares, dims, how, loc), loc);
  const Located n = CountNumbers(a, dims, how, loc) - options.ddof;
  const Located variance = If(n > 0, total / If(n > 0, n, 1), kNan);
  return Convert(f ? f(variance) : variance, t, call);
}

}  // namespace

Array nansum(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceNumbers("nansum", sum, 0, x, dims, std::move(options), loc);
}
Array nanprod(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return ReduceNumbers("nanprod", prod, 1, x, dims, std::move(options), loc);
}
Array nanmax(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return Extreme("nanmax", max, -kInfinity, x, dims, std::move(options), loc);
}
Array nanmin(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  return Extreme("nanmin", min, kInfinity, x, dims, std::move(options), loc);
}
Array nanmean(Operand x, Dims dims, ReduceOptions options, Loc loc) {
  const Call call{"nanmean", loc};
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"where", &options.where}},
                   [&](const Operands& xs) { return MeanOfNumbers(xs[0], dims, options, call); });
}
Array nanvar(Operand x, Dims dims, VarOptions options, Loc loc) {
  const Call call{"nanvar", loc};
  return AsOneWith(
      call, {{"operand", x}, dims, options}, {{"where", &options.where}},
      [&](const Operands& xs) -> Array { return VarianceOfNumbers(xs[0], dims, options, call); });
}
Array nanstd(Operand x, Dims dims, VarOptions options, Loc loc) {
  const Call call{"nanstd", loc};
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"where", &options.where}},
                   [&](const Operands& xs) -> Array {
                     return VarianceOfNumbers(xs[0], dims, options, call, Sqrt);
                   });
}

// ---- quantiles ----

namespace {

// Returns x with the dims as the last one: [others..., elements].
Array LinesOf(const Array& x, const std::vector<int64_t>& dims, Call call) {
  std::vector<int64_t> to;
  base::Shape shape;
  int64_t elements = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    to.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims.size()));
  for (int64_t d = 0; d < Rank(x); ++d)
    if (std::count(dims.begin(), dims.end(), d) == 0) shape.push_back(base::At(ShapeOf(x), d));
  for (int64_t d : dims) elements *= base::At(ShapeOf(x), d);
  shape.push_back(elements);
  return Reshape(moveaxis(x, dims, to, call.loc), shape, call);
}

// Returns the quantiles of the lines at q: [q's elements, others...].
Array BetweenNumbers(const Array& lines, const Array& q, QuantileMethod method, Call call) {
  const Loc loc = call.loc;
  const int64_t others = Rank(lines) - 1;
  const Located sorted(sort(lines, -1, {}, loc), loc);
  const Located n(sum(IsNumber(lines, loc), -1, {.dtype = f64, .keepdims = true}, loc), loc);
  base::Shape row(base::Size(others), 1);
  row.push_back(TypeOf(q)->elements());
  const Located share = n.With(Reshape(q, row, call)), is_share = (share >= 0) & (share <= 1);
  const Located position = share * n.With(maximum(n - 1, Operand(0, loc), {}, loc));
  const Located low = Floor(position), high(ceil(position, loc), loc);
  const auto at = [&](const Located& place) {
    return sorted.With(take_along_dim(sorted, Convert(place, i64, call), -1, {}, loc));
  };
  const Located chosen = n.With(Between(at(low), at(high), position - low, method, call));
  const Array made = If((n == 0) | !is_share, kNan, chosen);
  return moveaxis(Convert(made, sorted.dtype(), call), -1, 0, loc);
}

Array QuantileOfNumbers(const Array& x, const Array& q, const Dims& given,
                        const QuantileOptions& options, Call call) {
  const Loc loc = call.loc;
  const std::vector<int64_t> dims = NormalDims(given, Rank(x), call);
  const Array lines = LinesOf(x, dims, call);
  if (ShapeOf(lines).back() == 0) FailShape(call, 17, "there are no elements to choose from");
  Array made;
  if (options.method == QuantileMethod::kInvertedCdf) {
    const Located weights(LinesOf(WeightsFor(x, options.weights, dims, call), dims, call), loc);
    made = InvertedCdf(lines, If(weights.With(IsNumber(lines, loc)), weights, 0.0), q, call);
  } else {
    made = BetweenNumbers(lines, q, options.method, call);
  }
  base::Shape shape = ShapeOf(q);
  for (int64_t d = 0; d < Rank(x); ++d) {
    const bool is_reduced = std::count(dims.begin(), dims.end(), d) > 0;
    if (!is_reduced || options.keepdims) shape.push_back(is_reduced ? 1 : base::At(ShapeOf(x), d));
  }
  return Reshape(made, shape, call);
}

Array QuantileOfNumbers(const char* name, const Operand& x, const Operand& q, double most,
                        const Dims& dims, QuantileOptions options, Loc loc) {
  const Call call{name, loc};
  CheckWeights(options, call);
  return AsOneWith(
      call, {{"operand", x}, {"q", q}, dims, options}, {{"weights", &options.weights}},
      [&](const Operands& xs) {
        const Array a = ToFloat(xs[0], call);
        CheckReal(a, call);
        const Located fraction(Convert(ToFloat(xs[1], call), f64, call), loc);
        const Array at = most == 1 ? fraction : fraction / most;
        const InsideAutoAxes along = [&](const std::vector<Array>& given) {
          return std::vector{QuantileOfNumbers(given[0], given[1], dims, options, call)};
        };
        if (!options.out_sharding) return along({a, at})[0];
        return InAutoAxes({a, at}, *options.out_sharding, along, call)[0];
      });
}

}  // namespace

Array nanquantile(Operand x, Operand q, Dims dims, QuantileOptions options, Loc loc) {
  return QuantileOfNumbers("nanquantile", x, q, 1, dims, std::move(options), loc);
}
Array nanpercentile(Operand x, Operand q, Dims dims, QuantileOptions options, Loc loc) {
  return QuantileOfNumbers("nanpercentile", x, q, 100, dims, std::move(options), loc);
}
Array nanmedian(Operand x, Dims dims, MedianOptions options, Loc loc) {
  return QuantileOfNumbers("nanmedian", x, Operand(0.5, loc), 1, dims,
                           {.method = QuantileMethod::kMidpoint,
                            .keepdims = options.keepdims,
                            .out_sharding = options.out_sharding},
                           loc);
}

// ---- along one dim ----

static std::string Code(const ArgOptions& v) {
  return OptionFields().Add(v.dtype).Add("keepdims", v.keepdims, false).code();
}
static std::string Code(const CumOptions& v) {
  return OptionFields().Add("reverse", v.reverse, false).Add(v.out_sharding).code();
}

namespace {
using Choice = Array (*)(Operand, int, ArgOptions, Loc);
Array ChooseNumber(const char* name, Choice f, double instead, const Operand& x, int dim,
                   const ArgOptions& options, Loc loc) {
  const Call call{name, loc};
  return AsOne(call, {x, dim, options}, [&](const Operand& operand) -> Array {
    const Array a = ToArray(operand, call);
    const Located made(f(Without(a, instead, call), dim, options, loc), loc);
    if (!TypeOf(a)->dtype().is_inexact()) return made;
    return If(made.With(all(isnan(a, loc), dim, {.keepdims = options.keepdims}, loc)), -1, made);
  });
}
using RunningCall = Array (*)(Operand, int, CumOptions, Loc);
Array RunNumbers(const char* name, RunningCall f, double instead, const Operand& x, int dim,
                 CumOptions options, Loc loc) {
  const Call call{name, loc};
  return AsOne(call, {x, dim, options}, [&](const Operand& operand) {
    return f(Without(ToArray(operand, call), instead, call), dim, options, loc);
  });
}
}  // namespace

Array nanargmax(Operand x, int dim, ArgOptions options, Loc loc) {
  return ChooseNumber("nanargmax", argmax, -kInfinity, x, dim, options, loc);
}
Array nanargmin(Operand x, int dim, ArgOptions options, Loc loc) {
  return ChooseNumber("nanargmin", argmin, kInfinity, x, dim, options, loc);
}
Array nancumsum(Operand x, int dim, CumOptions options, Loc loc) {
  return RunNumbers("nancumsum", cumsum, 0, x, dim, options, loc);
}
Array nancumprod(Operand x, int dim, CumOptions options, Loc loc) {
  return RunNumbers("nancumprod", cumprod, 1, x, dim, options, loc);
}

}  // namespace tessera

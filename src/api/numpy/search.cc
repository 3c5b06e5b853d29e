// Search in sorted arrays, counts and histograms.
#include <fmt/format.h>

#include <cmath>

#include "api/core/call_modes.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "api/numpy/sized.h"
#include "base/at.h"
#include "base/dtype.h"

namespace tessera {

using namespace api;

static std::string Code(const SearchOptions& v) {
  return OptionFields().Add("right", v.right, false).code();
}
static std::string Code(const BincountOptions& v) {
  return OptionFields()
      .AddNamed("weights", v.weights)
      .Add("length", v.length)
      .Add(v.out_sharding)
      .code();
}
static std::string Code(const HistogramOptions& v) {
  return OptionFields()
      .Add("bins", v.bins, int64_t{10})
      .AddNamed("edges", v.edges)
      .Add("range", v.range)
      .AddNamed("weights", v.weights)
      .Add("density", v.density, false)
      .Add(v.out_sharding)
      .code();
}
static std::string Code(const HistogramddOptions& v) {
  return OptionFields()
      .Add("bins", v.bins, {})
      .AddNamed("edges", v.edges)
      .Add("range", v.range, {})
      .AddNamed("weights", v.weights)
      .Add("density", v.density, false)
      .Add(v.out_sharding)
      .code();
}

namespace {

// C17: throws ShapeError unless x has rank 1.
void CheckLine(const char* what, const Array& x, Call call) {
  if (Rank(x) != 1) FailShape(call, 17, fmt::format("the {} has rank 1, not {}", what, Rank(x)));
}

// Whether a comes before b in sorted order, NaN last.
Located Before(const Located& a, const Located& b) {
  if (!a.dtype().is_floating()) return a < b;
  return (a < b) | (IsNan(b) & !IsNan(a));
}

// Halves the range in which the place is until one is left. Each step looks up one element.
Located PlaceOf(const Array& sorted, const Array& values, bool right, Call call) {
  const Loc loc = call.loc;
  CheckLine("sorted array", sorted, call);
  const int64_t n = ShapeOf(sorted)[0];
  const std::vector<Array> xs = PromoteTo(PromotedDType({sorted, values}, call), {sorted}, call);
  const Array line = Gathered(xs[0], call);
  const Located v(Convert(values, TypeOf(line)->dtype(), call), loc);
  const DType t = n < (int64_t{1} << 30) ? i32 : i64;
  Located low(zeros_like(v, {.dtype = t}, loc), loc), high = low + n;
  for (int64_t left = n; left > 0; left /= 2) {
    const Located middle = v.With(floor_divide(low + high, Operand(2, loc), {}, loc));
    const Located at =
        v.With(take(line, minimum(middle, Operand(n - 1, loc), {}, loc), 0, {}, loc));
    const Located is_after = right ? !Before(v, at) : Before(at, v);
    const Located open = low < high;
    low = If(open & is_after, middle + 1, low);
    high = If(open & !is_after, middle, high);
  }
  return low;
}

}  // namespace

Array searchsorted(Operand a, Operand v, SearchOptions options, Loc loc) {
  const Call call{"searchsorted", loc};
  return AsOne(call, {{"a", a}, {"v", v}, options},
               [&](const Operand& sorted, const Operand& values) -> Array {
                 return PlaceOf(ToArray(sorted, call), ToArray(values, call), options.right, call);
               });
}

Array digitize(Operand x, Operand bins, SearchOptions options, Loc loc) {
  const Call call{"digitize", loc};
  return AsOne(call, {{"operand", x}, {"bins", bins}, options},
               [&](const Operand& operand, const Operand& limits) -> Array {
                 const Array values = ToArray(operand, call);
                 const Array sorted = Gathered(ToArray(limits, call), call);
                 CheckLine("array of bins", sorted, call);
                 const int64_t n = ShapeOf(sorted)[0];
                 if (n == 0) return zeros_like(values, {.dtype = i32}, loc);
                 const Located up = PlaceOf(sorted, values, !options.right, call);
                 const Located down =
                     n - PlaceOf(flip(sorted, All, loc), values, !options.right, call);
                 const Located first(take(sorted, Operand(0, loc), 0, {}, loc), loc);
                 const Located last(take(sorted, Operand(n - 1, loc), 0, {}, loc), loc);
                 return If(last >= first, up, down);
               });
}

Array bincount(Operand x, BincountOptions options, Loc loc) {
  const Call call{"bincount", loc};
  Array& weights = options.weights;
  return AsOneWith(
      call, {{"operand", x}, options}, {{"weights", &weights}}, [&](const Operands& xs) {
        const Array a = ToArray(xs[0], call);
        CheckLine("array", a, call);
        if (!TypeOf(a)->dtype().is_integer())
          FailDType(call, 14, fmt::format("it counts ints, not {}", TypeOf(a)->dtype().name()));
        const int64_t n = ShapeOf(a)[0];
        const Array number = maximum(a, Operand(0, loc), {}, loc);
        const int64_t length =
            options.length || n == 0
                ? SizeOr(options.length, StrongScalar(0, i64, call), call)
                : SizeOr({}, add(max(number, All, {}, loc), Operand(1, loc), {}, loc), call);
        const Array each = weights.is_given()
                               ? weights
                               : full_like(a, Operand(1, loc), {.dtype = base::DefaultInt()}, loc);
        if (ShapeOf(each) != ShapeOf(a))
          FailShape(call, 18,
                    fmt::format("there are {} elements, but weights of shape {}", n,
                                ir::FieldText(ShapeOf(each))));
        return AtRows(scatter_add, zeros({length}, {.dtype = TypeOf(each)->dtype()}, loc), number,
                      each, {.out_sharding = options.out_sharding}, call);
      });
}

// ---- histograms ----

namespace {

// C17: throws ShapeError for bins without a range around NaN or infinity, if the elements are
// known.
void CheckBounds(const Located& low, const Located& high, Call call) {
  const Located size = high - low;
  if (size.plain().is_traced() || size.plain().is_abstract()) return;
  if (!all(isfinite(size, call.loc), All, {}, call.loc).item<bool>(call.loc))
    FailShape(call, 17, "the elements have no finite range: one is infinite or NaN",
              {"give the bounds of the bins: .range = std::pair(low, high)"});
}

// Returns bins + 1 edges. Where the elements are all equal, the bins are around them.
Array EqualEdges(const Array& x, int64_t bins,
                 const std::optional<std::pair<double, double>>& range, Call call) {
  const Loc loc = call.loc;
  if (bins < 1) FailShape(call, 17, fmt::format("there are {} bins", bins));
  const DType t = TypeOf(x)->dtype();
  Located low(zeros({}, {.dtype = t}, loc), loc), high = low + 1;
  if (range) {
    low = low.With(StrongScalar(range->first, t, call));
    high = low.With(StrongScalar(range->second, t, call));
  } else if (TypeOf(x)->elements() > 0) {
    low = low.With(min(x, All, {}, loc));
    high = low.With(max(x, All, {}, loc));
    CheckBounds(low, high, call);
  }
  const Located is_flat = low == high;
  return linspace(If(is_flat, low - 0.5, low), If(is_flat, high + 0.5, high), bins + 1, {}, loc);
}

// Returns the number of each x's bin, from 1; 0 and the number of edges are outside.
Located BinOf(const Array& x, const Array& edges, Call call) {
  const int64_t n = ShapeOf(edges)[0];
  const Located last(take(edges, Operand(n - 1, call.loc), 0, {}, call.loc), call.loc);
  return If(last.With(x) == last, n - 1, PlaceOf(edges, x, true, call));
}

}  // namespace

Array histogram_bin_edges(Operand x, HistogramOptions options, Loc loc) {
  const Call call{"histogram_bin_edges", loc};
  if (options.edges.is_given()) return options.edges;
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    return EqualEdges(ToFloat(operand, call), options.bins, options.range, call);
  });
}

namespace {

// C18: throws ShapeError unless bins, edges and ranges are one for each dim, or one for all.
void CheckOneEach(size_t rank, const HistogramddOptions& options, Call call) {
  const auto fits = [&](size_t size) { return size == 0 || size == 1 || size == rank; };
  if (!fits(options.bins.size()) || !fits(options.edges.size()) || !fits(options.range.size()) ||
      (options.edges.size() == 1 && rank != 1))
    FailShape(call, 18, fmt::format("bins, edges and ranges are one for each of {} dims", rank));
}

// Returns the edges of the bins of dim d, in which the points have these coordinates.
Array EdgesOf(const Array& coordinates, size_t d, const HistogramddOptions& options, Call call) {
  if (!options.edges.empty()) {
    CheckLine("array of edges", options.edges[d], call);
    return options.edges[d];
  }
  const int64_t bins = options.bins.empty() ? 10 : options.bins[d % options.bins.size()];
  const auto range = options.range.empty() ? std::optional<std::pair<double, double>>()
                                           : std::optional(options.range[d % options.range.size()]);
  return EqualEdges(coordinates, bins, range, call);
}

Array WeightsOf(const base::Shape& points, const HistogramddOptions& options, Call call) {
  if (!options.weights.is_given()) return ones(points, {.dtype = base::DefaultInt()}, call.loc);
  if (ShapeOf(options.weights) != points)
    FailShape(call, 18,
              fmt::format("there are {} points, but weights of shape {}", base::Elements(points),
                          ir::FieldText(ShapeOf(options.weights))));
  return options.weights;
}

// Returns the counts, or -1 (in an unsigned dtype its largest number) where an edge is NaN.
Array WithoutNanEdges(const Histogram& made, Call call) {
  const Loc loc = call.loc;
  Located is_counted(StrongScalar(true, bool_, call), loc);
  for (const Array& e : made.edges)
    is_counted = is_counted & is_counted.With(all(logical_not(isnan(e, loc), loc), All, {}, loc));
  const Array none = Convert(StrongScalar(-1, i64, call), TypeOf(made.counts)->dtype(), call);
  return If(is_counted, is_counted.With(made.counts), is_counted.With(none));
}

// Returns the share of each box, divided by its size.
Array DensityOf(const Histogram& made, Call call) {
  const Loc loc = call.loc;
  std::vector<Operand> all(made.edges.begin(), made.edges.end());
  all.emplace_back(made.counts, loc);
  const Located number(Convert(made.counts, FloatOf(PromotedDType(all, call)), call), loc);
  Located share = number / number.With(sum(number, All, {}, loc));
  for (size_t d = 0; d < made.edges.size(); ++d) {
    base::Shape wide(made.edges.size(), 1);
    wide[d] = ShapeOf(made.edges[d])[0] - 1;
    share = share / share.With(Reshape(diff(made.edges[d], -1, {}, loc), wide, call));
  }
  return share;
}

// Counts points by boxes. The columns are the coordinates of the points: arrays of one shape, which
// may be sharded. Devices count their own points and add up.
Histogram CountWhole(const std::vector<Array>& columns, const base::Shape& points,
                     const HistogramddOptions& options, Call call) {
  const Loc loc = call.loc;
  CheckOneEach(columns.size(), options, call);
  Histogram made;
  Located place(zeros(points, {.dtype = i32}, loc), loc);
  base::Shape shape;
  for (size_t d = 0; d < columns.size(); ++d) {
    made.edges.push_back(EdgesOf(columns[d], d, options, call));
    shape.push_back(ShapeOf(made.edges.back())[0] + 1);
    place = place * shape.back() + BinOf(columns[d], made.edges[d], call);
  }
  const Array weights = WeightsOf(points, options, call);
  ScatterOptions sums;
  if (OwnSpec(place) || OwnSpec(weights)) sums.out_sharding = P(None);
  const Array none = zeros({base::Elements(shape)}, {.dtype = TypeOf(weights)->dtype()}, loc);
  made.counts = Reshape(AtRows(scatter_add, none, place, weights, sums, call), shape, call);
  base::Shape starts(shape.size(), 1), limits = shape;
  for (int64_t& limit : limits) --limit;
  made.counts = slice(made.counts, starts, limits, {}, loc);
  // Only edges that the elements give may be NaN.
  if (options.edges.empty() && options.range.empty()) made.counts = WithoutNanEdges(made, call);
  if (options.density) made.counts = DensityOf(made, call);
  return made;
}

// As CountWhole, laid out as the options say.
Histogram CountPoints(const std::vector<Array>& columns, const base::Shape& points,
                      const HistogramddOptions& options, Call call) {
  if (!options.out_sharding) return CountWhole(columns, points, options, call);
  const InsideAutoAxes count = [&](const std::vector<Array>& xs) {
    Histogram made = CountWhole(xs, points, options, call);
    made.edges.insert(made.edges.begin(), made.counts);
    return made.edges;
  };
  std::vector<Specs> specs(columns.size() + 1, P());  // the edges are whole
  specs[0] = *options.out_sharding;
  std::vector<Array> made = InAutoAxes(columns, Specs(specs), count, call);
  const Array counts = made[0];
  made.erase(made.begin());
  return {counts, std::move(made)};
}

// Returns the columns of points [n, dims]: each device has all coordinates of its points.
std::vector<Array> ColumnsOf(const Array& points, Call call) {
  if (Rank(points) != 2)
    FailShape(call, 17, fmt::format("points have dims [n, dims], not rank {}", Rank(points)));
  if (ShapeOf(points)[1] == 0) return {};
  return unstack(WholeAlong(points, 1, call), 1, call.loc);
}

}  // namespace

Histogram histogramdd(Operand x, HistogramddOptions options, Loc loc) {
  const Call call{"histogramdd", loc};
  Histogram made;
  const auto count = [&](const Operands& xs) {
    const Array points = ToFloat(xs[0], call);
    const std::vector<Array> columns = ColumnsOf(points, call);
    made = CountPoints(columns, {ShapeOf(points)[0]}, options, call);
    return made.counts;
  };
  AsOneWith(call, {{"operand", x}, options},
            {{"edges", &options.edges}, {"weights", &options.weights}}, count);
  return made;
}

Histogram histogram2d(Operand x, Operand y, HistogramddOptions options, Loc loc) {
  const Call call{"histogram2d", loc};
  Histogram made;
  const auto count = [&](const Operands& given) {
    const std::vector<Array> xs = PromoteFloat({given[0], given[1]}, call);
    for (const Array& a : xs) CheckLine("array", a, call);
    if (ShapeOf(xs[0]) != ShapeOf(xs[1]))
      FailShape(
          call, 18,
          fmt::format("x has {} elements, but y has {}", ShapeOf(xs[0])[0], ShapeOf(xs[1])[0]));
    made = CountPoints(xs, ShapeOf(xs[0]), options, call);
    return made.counts;
  };
  AsOneWith(call, {{"x", x}, {"y", y}, options},
            {{"edges", &options.edges}, {"weights", &options.weights}}, count);
  return made;
}

Histogram histogram(Operand x, HistogramOptions options, Loc loc) {
  const Call call{"histogram", loc};
  Histogram made;
  const auto count = [&](const Operands& xs) {
    const Array a = ToFloat(xs[0], call);
    HistogramddOptions each{
        .bins = {options.bins}, .density = options.density, .out_sharding = options.out_sharding};
    if (options.edges.is_given()) each.edges = {options.edges};
    if (options.range) each.range = {*options.range};
    if (options.weights.is_given()) each.weights = options.weights;
    if (options.weights.is_given() && TypeOf(each.weights)->elements() == TypeOf(a)->elements())
      each.weights = Reshape(each.weights, ShapeOf(a), call);
    made = CountPoints({a}, ShapeOf(a), each, call);
    return made.counts;
  };
  AsOneWith(call, {{"operand", x}, options},
            {{"edges", &options.edges}, {"weights", &options.weights}}, count);
  return made;
}

}  // namespace tessera

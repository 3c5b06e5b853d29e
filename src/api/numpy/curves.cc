// Functions of sampled curves: convolutions, gradients, integrals, lines, windows.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "api/numpy/sized.h"
#include "base/at.h"
#include "base/dtype.h"
#include "tessera/convolution.h"
#include "tessera/sets.h"
#include "tessera/statistics.h"

namespace tessera {

using namespace api;

static std::string Code(const InterpOptions& v) {
  return OptionFields().Add("left", v.left).Add("right", v.right).Add("period", v.period).code();
}
static std::string Code(const UnwrapOptions& v) {
  return OptionFields()
      .Add("dim", v.dim, -1)
      .Add("discont", v.discont)
      .Add("period", v.period, UnwrapOptions().period)
      .code();
}
static std::string Code(const TrapezoidOptions& v) {
  return OptionFields().AddNamed("x", v.x).Add("dx", v.dx, 1.0).Add("dim", v.dim, -1).code();
}

namespace {

// Returns x[first:limit] along the dim; negative numbers count from the end.
Located Stretch(const Located& x, int64_t dim, int64_t first, int64_t limit) {
  base::Shape starts(x.shape().size(), 0), limits = x.shape();
  const int64_t n = base::At(limits, dim);
  base::At(starts, dim) = first < 0 ? first + n : first;
  base::At(limits, dim) = limit <= 0 ? limit + n : limit;
  return x.With(slice(x, starts, limits, {}, x.loc()));
}

// Returns the elements along the only dim as [1, 1, n].
Array AsRow(const Array& x, Call call) { return Reshape(x, {1, 1, ShapeOf(x)[0]}, call); }

Array Windows(const Operand& a, const Operand& v, ConvolveMode mode, bool is_reversed, Call call) {
  const Loc loc = call.loc;
  std::vector<Array> xs = PromoteFloat({a, v}, call);
  for (const Array& x : xs)
    if (Rank(x) != 1 || ShapeOf(x)[0] == 0)
      FailShape(call, 17,
                fmt::format("both arrays have rank 1 and elements, not shape {}",
                            ir::FieldText(ShapeOf(x))));
  if (!is_reversed) xs[1] = conj(xs[1], loc);
  const bool is_swapped = ShapeOf(xs[0])[0] < ShapeOf(xs[1])[0];
  if (is_swapped) std::swap(xs[0], xs[1]);
  if (is_reversed) xs[1] = flip(xs[1], All, loc);
  const int64_t m = ShapeOf(xs[1])[0];
  std::pair<int64_t, int64_t> edge{0, 0};
  if (mode == ConvolveMode::kFull) edge = {m - 1, m - 1};
  if (mode == ConvolveMode::kSame) edge = {m / 2, m - m / 2 - 1};
  const WindowPadding padding(std::vector<std::pair<int64_t, int64_t>>{edge});
  const Array made = conv(AsRow(xs[0], call), AsRow(xs[1], call), {1}, padding, {}, loc);
  const Array line = Reshape(made, {ShapeOf(made).back()}, call);
  return is_swapped && !is_reversed ? flip(line, All, loc) : line;
}

}  // namespace

Array convolve(Operand a, Operand v, ConvolveMode mode, Loc loc) {
  const Call call{"convolve", loc};
  return AsOne(call, {{"a", a}, {"v", v}, mode},
               [&](const Operand& x, const Operand& y) { return Windows(x, y, mode, true, call); });
}
Array correlate(Operand a, Operand v, ConvolveMode mode, Loc loc) {
  const Call call{"correlate", loc};
  return AsOne(call, {{"a", a}, {"v", v}, mode}, [&](const Operand& x, const Operand& y) {
    return Windows(x, y, mode, false, call);
  });
}

// ---- differences ----

namespace {

// Returns element i + step along the dim at i, and 0 where there is none: a sharded dim sends its
// edges.
Located Shifted(const Located& x, int64_t dim, int64_t step) {
  if (base::At(x.shape(), dim) == 0) return x;
  std::vector<Padding> edges(x.shape().size());
  base::At(edges, dim) = {.low = -step, .high = step};
  return x.With(pad(x, edges, Operand(0, x.loc()), x.loc()));
}

// The first and the last element along a dim.
struct Ends {
  Located is_first, is_last;
};
Ends EndsOf(const Located& x, int64_t dim, Call call) {
  const Located position(Positions(x, dim, i32, call), call.loc);
  return {position == 0, position == base::At(x.shape(), dim) - 1};
}

Located Gradient(const Located& x, int64_t dim, double spacing, Call call) {
  const Ends at = EndsOf(x, dim, call);
  const Located next = Shifted(x, dim, 1), before = Shifted(x, dim, -1);
  const Located inner = (next - before) * 0.5;
  return If(at.is_first, next - x, If(at.is_last, x - before, inner)) / spacing;
}

// The weights of the three points are those of the parabola through them.
Located Gradient(const Located& x, int64_t dim, const Array& coordinates, Call call) {
  base::Shape along(x.shape().size(), 1);
  base::At(along, dim) = ShapeOf(coordinates)[0];
  const Located at(Reshape(ToFloat(coordinates, call), along, call), call.loc);
  const Ends ends = EndsOf(x, dim, call);
  // The last step is not used, and neither are the sums at the ends: no division is by 0.
  const Located step = If(ends.is_last, 1.0, Shifted(at, dim, 1) - at);
  const Located before = Shifted(step, dim, -1);
  const Located rise = (Shifted(x, dim, 1) - x) / step, rise_before = Shifted(rise, dim, -1);
  const Located both = If(ends.is_first | ends.is_last, 1.0, before + step);
  const Located inner = (before * rise + step * rise_before) / both;
  return If(ends.is_first, rise, If(ends.is_last, rise_before, inner));
}

}  // namespace

static std::string Code(const GradientOptions& v) {
  return OptionFields()
      .Add("spacing", v.spacing, 1.0)
      .AddNamed("coordinates", v.coordinates)
      .code();
}

std::vector<Array> gradient(Operand x, Dims dims, GradientOptions options, Loc loc) {
  const Call call{"gradient", loc};
  std::vector<Array>& coordinates = options.coordinates;
  const auto slopes = [&](const Operands& xs) {
    const DType t = TypeOf(ToFloat(xs[0], call))->dtype();
    const Located a(ToWide(ToFloat(xs[0], call), call), loc);
    const std::vector<int64_t> along = NormalDims(dims, Rank(a), call);
    if (!coordinates.empty() && coordinates.size() != along.size())
      FailShape(call, 18,
                fmt::format("there are coordinates of {} dims, not {}", coordinates.size(),
                            along.size()));
    std::vector<Array> made;
    for (size_t i = 0; i < along.size(); ++i) {
      const int64_t n = base::At(a.shape(), along[i]);
      if (n < 2)
        FailShape(call, 17,
                  fmt::format("dim {} has {} elements: there are no neighbours", along[i], n));
      if (!coordinates.empty() && ShapeOf(coordinates[i]) != base::Shape{n})
        FailShape(call, 19,
                  fmt::format("dim {} has {} elements, but coordinates of shape {}", along[i], n,
                              ir::FieldText(ShapeOf(coordinates[i]))));
      const Array slope = coordinates.empty() ? Gradient(a, along[i], options.spacing, call)
                                              : Gradient(a, along[i], coordinates[i], call);
      const DType own =
          coordinates.empty() ? t : FloatOf(PromotedDType({xs[0], coordinates[i]}, call));
      made.push_back(Convert(slope, own, call));
    }
    return made;
  };
  return AsOneWith(call, {{"operand", x}, dims, options}, {{"coordinates", &coordinates}}, slopes);
}

Array trapezoid(Operand y, TrapezoidOptions options, Loc loc) {
  const Call call{"trapezoid", loc};
  const Array& x = options.x;
  return AsOneWith(
      call, {{"operand", y}, options}, {{"x", &options.x}}, [&](const Operands& xs) -> Array {
        const Array given = ToFloat(xs[0], call);
        const DType t = TypeOf(given)->dtype();
        const Located a(moveaxis(ToWide(given, call), options.dim, -1, loc), loc);
        const int64_t last = Rank(a) - 1;
        const Located is_last = EndsOf(a, last, call).is_last;
        const Located pairs = If(is_last, 0.0, Shifted(a, last, 1) + a);
        if (!x.is_given())
          return Convert(a.With(sum(pairs, -1, {}, loc)) * (0.5 * options.dx), t, call);
        const Array places = ToFloat(Operand(x, loc), call);
        Located at(ToWide(places, call), loc);
        if (Rank(at) != 1) at = at.With(moveaxis(at, options.dim, -1, loc));
        const int64_t along = Rank(at) - 1;
        if (Rank(at) == 0 || ShapeOf(at).back() != ShapeOf(a).back())
          FailShape(call, 18,
                    fmt::format("dim {} has {} elements, but x has shape {}", options.dim,
                                ShapeOf(a).back(), ir::FieldText(ShapeOf(places))));
        const Located width = Shifted(at, along, 1) - at;
        return Convert(a.With(sum(pairs * width, -1, {}, loc)) * 0.5,
                       PromotedDType({given, places}, call), call);
      });
}

Array unwrap(Operand x, UnwrapOptions options, Loc loc) {
  const Call call{"unwrap", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) -> Array {
    const Array given = ToFloat(operand, call);
    const Located a(ToWide(given, call), loc);
    const int64_t dim = NormalDim(options.dim, Rank(a), call);
    if (base::At(a.shape(), dim) < 2) return api::Same(given);
    const double half = options.period / 2;
    // Element 0 has none before it.
    const Located step = If(EndsOf(a, dim, call).is_first, 0.0, a - Shifted(a, dim, -1));
    Located wrapped = a.With(remainder(step + half, Operand(options.period, loc), {}, loc)) - half;
    wrapped = If((wrapped == -half) & (step > 0), half, wrapped);
    const Located shift = If(Abs(step) < options.discont.value_or(half), 0.0, wrapped - step);
    const Located whole =
        a + a.With(cumsum(shift, static_cast<int>(dim), {.out_sharding = OwnSpec(a)}, loc));
    return Convert(whole, TypeOf(given)->dtype(), call);
  });
}

// ---- lines ----

namespace {

Array Interp(const Array& x, Array xp, Array fp, const InterpOptions& options, Call call) {
  const Loc loc = call.loc;
  Located at(x, loc);
  if (options.period) {
    const Operand period(std::abs(*options.period), loc);
    at = at.With(remainder(at, period, {}, loc));
    const std::vector<Array> sorted = sort({remainder(xp, period, {}, loc), fp}, 0, {}, loc);
    const Located place(sorted[0], loc), value(sorted[1], loc);
    xp = concatenate({Stretch(place, 0, -1, 0) - std::abs(*options.period), place,
                      Stretch(place, 0, 0, 1) + std::abs(*options.period)},
                     0, loc);
    fp = concatenate({Stretch(value, 0, -1, 0), value, Stretch(value, 0, 0, 1)}, 0, loc);
  }
  const int64_t n = ShapeOf(xp)[0];
  const Located found(searchsorted(xp, stop_gradient(at, loc), {.right = true}, loc), loc);
  const Located high = found.With(clip(found, Operand(1, loc), Operand(n - 1, loc), loc));
  const auto look = [&](const Array& line, const Array& place) {
    return Located(take(line, place, 0, {}, loc), loc);
  };
  const Located x0 = look(xp, high - 1), x1 = look(xp, high), y0 = look(fp, high - 1),
                y1 = look(fp, high);
  // No division by a distance of 0, also in the derivative.
  const Located is_flat = Abs(x1 - x0) <= std::numeric_limits<double>::denorm_min();
  const Located share = If(is_flat, 0.0, (at - x0) / If(is_flat, 1.0, x1 - x0));
  // Beside an infinite value a point has its own value, and the points between are infinite.
  const Located rise = y1 - y0, is_finite = rise.With(isfinite(rise, loc));
  const Located beside = If(share <= 0, y0, If(share >= 1, y1, y0 * (1.0 - share) + y1 * share));
  // From its own end a place at the last point has that point's value.
  const Located slope = If(is_finite, rise, 0.0);
  const Located line = If(share >= 1, y1 + (share - 1.0) * slope, y0 + share * slope);
  Located made = If(is_finite, line, beside);
  if (options.period) return made;
  const auto end = [&](const std::optional<double>& given, int64_t place) {
    return given ? made.With(StrongScalar(*given, made.dtype(), call))
                 : look(fp, StrongScalar(place, i32, call));
  };
  made = If(at < look(xp, StrongScalar(0, i32, call)), end(options.left, 0), made);
  return If(at > look(xp, StrongScalar(n - 1, i32, call)), end(options.right, n - 1), made);
}

}  // namespace

Array interp(Operand x, Operand xp, Operand fp, InterpOptions options, Loc loc) {
  const Call call{"interp", loc};
  if (options.period && !(*options.period != 0))
    FailShape(call, 17, fmt::format("the period {} is not a length", *options.period));
  return AsOne(call, {{"operand", x}, {"xp", xp}, {"fp", fp}, options},
               [&](const Operand& at, const Operand& places, const Operand& values) {
                 const DType t = FloatOf(PromotedDType({at, places, values}, call));
                 const Array p = Convert(ToArray(places, call), WideDType(t), call),
                             v = Convert(ToArray(values, call), WideDType(t), call);
                 if (Rank(p) != 1 || ShapeOf(p) != ShapeOf(v) || ShapeOf(p)[0] == 0)
                   FailShape(
                       call, 18,
                       fmt::format("the points have places of shape {} and values of shape {}",
                                   ir::FieldText(ShapeOf(p)), ir::FieldText(ShapeOf(v))));
                 const Array x = Convert(ToArray(at, call), WideDType(t), call);
                 return Convert(Interp(x, p, v, options, call), t, call);
               });
}

// ---- windows ----

namespace {
// Returns f(2 i / (n - 1)) for the places i = 0, ..., n - 1.
template <class F>
Array Window(const char* name, int64_t n, Loc loc, const F& f) {
  const Call call{name, loc};
  if (n < 0) FailShape(call, 17, fmt::format("a window has {} elements", n));
  std::vector<double> values(base::Size(n), 1);
  for (int64_t i = 0; i < n && n > 1; ++i)
    base::At(values, i) = f(2 * static_cast<double>(i) / static_cast<double>(n - 1));
  return Convert(array(values, {}, loc), base::DefaultFloat(), call);
}
}  // namespace

Array bartlett(int64_t n, Loc loc) {
  return Window("bartlett", n, loc, [](double x) { return 1 - std::abs(x - 1); });
}
Array blackman(int64_t n, Loc loc) {
  return Window("blackman", n, loc, [](double x) {
    const double angle = std::numbers::pi * x;
    return 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
  });
}
Array hamming(int64_t n, Loc loc) {
  return Window("hamming", n, loc,
                [](double x) { return 0.54 - 0.46 * std::cos(std::numbers::pi * x); });
}
Array hanning(int64_t n, Loc loc) {
  return Window("hanning", n, loc,
                [](double x) { return 0.5 - 0.5 * std::cos(std::numbers::pi * x); });
}
Array kaiser(int64_t n, double beta, Loc loc) {
  return Window("kaiser", n, loc, [beta](double x) {
    const double height = std::sqrt(std::max(0.0, 1 - (x - 1) * (x - 1)));
    return std::cyl_bessel_i(0, std::abs(beta) * height) / std::cyl_bessel_i(0, std::abs(beta));
  });
}

}  // namespace tessera

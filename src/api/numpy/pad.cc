// Padding by elements of the array, and repeats by counts.
#include <fmt/format.h>

#include <numeric>

#include "api/core/call_modes.h"
#include "api/core/option_fields.h"
#include "api/numpy/part.h"
#include "api/numpy/sized.h"
#include "base/at.h"
#include "base/error.h"
#include "base/shape.h"
#include "tessera/pieces.h"

namespace tessera {

using namespace api;

static std::string Code(PadMode v) {
  constexpr const char* kNames[] = {"kEdge",       "kReflect", "kSymmetric", "kWrap",
                                    "kLinearRamp", "kMaximum", "kMinimum",   "kMean"};
  return std::string("PadMode::") + kNames[static_cast<size_t>(v)];
}
static std::string Code(const PadOptions& v) {
  return OptionFields().Add("end_value", v.end_value, 0.0).code();
}
static std::string Code(const RepeatOptions& v) {
  return OptionFields().Add("total", v.total).Add(v.out_sharding).code();
}

namespace {

// Returns the place in a dim of size n of the element at position i outside of it.
int64_t PlaceOf(int64_t i, int64_t n, PadMode mode) {
  const auto rest = [i](int64_t period) { return (i % period + period) % period; };
  switch (mode) {
    case PadMode::kEdge:
      return i < 0 ? 0 : n - 1;
    case PadMode::kReflect: {
      if (n == 1) return 0;
      const int64_t r = rest(2 * n - 2);
      return r < n ? r : 2 * n - 2 - r;
    }
    case PadMode::kSymmetric: {
      const int64_t r = rest(2 * n);
      return r < n ? r : 2 * n - 1 - r;
    }
    default:
      return rest(n);
  }
}

// Returns the elements at positions [first, limit) along the dim, which are outside of it. They are
// runs of neighbours, forward, backward or repeated.
Array Outside(const Array& x, int64_t dim, int64_t first, int64_t limit, PadMode mode, Call call) {
  const int64_t n = base::At(ShapeOf(x), dim);
  std::vector<Array> runs;
  for (int64_t i = first; i < limit;) {
    const int64_t begin = PlaceOf(i, n, mode);
    const int64_t step = i + 1 < limit ? PlaceOf(i + 1, n, mode) - begin : 1;
    int64_t end = i + 1;
    while (end < limit && std::abs(step) <= 1 && PlaceOf(end, n, mode) == begin + step * (end - i))
      ++end;
    const int64_t last = PlaceOf(end - 1, n, mode), count = end - i;
    const Array run = Part(x, dim, std::min(begin, last), std::max(begin, last) + 1, call.loc);
    const bool repeats = begin == last;
    if (repeats && count > 1) {
      base::Shape shape = ShapeOf(run);
      base::At(shape, dim) = count;
      runs.push_back(BroadcastTo(run, shape, call));
    } else {
      runs.push_back(step < 0 ? rev(run, static_cast<int>(dim), call.loc) : run);
    }
    i = end;
  }
  return concatenate(runs, static_cast<int>(dim), call.loc);
}

// Returns `count` numbers along the dim from the end value to the edge, without the edge.
Array Ramp(const Array& edge, int64_t dim, int64_t count, double end, Call call) {
  const DType t = TypeOf(edge)->dtype();
  const Array line = linspace(StrongScalar(end, t.is_inexact() ? t : f64, call),
                              squeeze(edge, static_cast<int>(dim), call.loc), count,
                              {.dtype = t, .endpoint = false}, call.loc);
  return moveaxis(line, 0, static_cast<int>(dim), call.loc);
}

// Returns the one number of each line along the dim that a mode pads with: size 1 in the dim.
Array Statistic(const Array& x, int64_t dim, PadMode mode, Call call) {
  const Dims dims(static_cast<int>(dim));
  const ReduceOptions keep{.keepdims = true};
  if (mode == PadMode::kMaximum) return max(x, dims, keep, call.loc);
  if (mode == PadMode::kMinimum) return min(x, dims, keep, call.loc);
  const DType t = TypeOf(x)->dtype();
  const Array made = mean(x, dims, keep, call.loc);
  return t.is_inexact() ? made : Convert(round(made, {}, call.loc), t, call);
}

Array PaddedDim(const Array& x, int64_t dim, const Padding& by, PadMode mode,
                const PadOptions& options, Call call) {
  const int64_t n = base::At(ShapeOf(x), dim);
  if (by.low < 0 || by.high < 0 || by.interior != 0)
    FailShape(call, 18,
              fmt::format("dim {} is padded by {}, {} and {}: a mode pads ends by 0 or more", dim,
                          by.low, by.high, by.interior));
  if (by.low == 0 && by.high == 0) return x;
  if (n == 0) FailShape(call, 17, fmt::format("dim {} is empty: it has no element to take", dim));
  std::vector<Array> parts;
  const auto add = [&](int64_t count, bool low) {
    if (count == 0) return;
    base::Shape shape = ShapeOf(x);
    base::At(shape, dim) = count;
    if (mode == PadMode::kLinearRamp) {
      const Array edge = Part(x, dim, low ? 0 : n - 1, low ? 1 : n, call.loc);
      const Array ramp = Ramp(edge, dim, count, options.end_value, call);
      parts.push_back(low ? ramp : rev(ramp, static_cast<int>(dim), call.loc));
    } else if (mode > PadMode::kLinearRamp) {
      parts.push_back(BroadcastTo(Statistic(x, dim, mode, call), shape, call));
    } else {
      parts.push_back(low ? Outside(x, dim, -count, 0, mode, call)
                          : Outside(x, dim, n, n + count, mode, call));
    }
  };
  add(by.low, true);
  parts.push_back(x);
  add(by.high, false);
  return concatenate(parts, static_cast<int>(dim), call.loc);
}

bool PadsShards(const Array& x, const std::vector<Padding>& padding) {
  const sharding::TensorSharding& own = TypeOf(x)->sharding();
  for (size_t d = 0; d < padding.size(); ++d)
    if (!own.dims[d].axes.empty() && (padding[d].low > 0 || padding[d].high > 0)) return true;
  return false;
}

// Returns padded(x) in the layout of x. Its steps have sizes that the shards need not divide.
template <class F>
Array PaddedAcross(const Array& x, const F& padded, Call call) {
  const detail::Body body = [&](const std::vector<Array>& xs) {
    const Array y = padded(xs[0]);
    return detail::FunctionResult{{y}, detail::AnyTree::Of(y)};
  };
  std::vector<Array> arguments{x};
  return CallAutoAxes({arguments, body, call.loc}, {.out_sharding = *OwnSpec(x)}).arrays[0];
}

// Returns the size of the result of a repeat: the option, or the sum of counts for `size` elements.
// C17: throws as SizeOr does. Counts that are known may be read while a function is traced.
int64_t TotalOf(const std::optional<int64_t>& total, const Array& counts, int64_t size, Call call) {
  if (total || counts.is_traced() || counts.is_abstract()) return SizeOr(total, counts, call);
  const std::vector<int64_t> values = counts.to_vector<int64_t>(call.loc);
  for (int64_t n : values)
    if (n < 0) FailShape(call, 20, fmt::format("an element cannot be repeated {} times", n));
  return std::accumulate(values.begin(), values.end(), int64_t{0}) *
         (values.size() == 1 ? size : 1);
}

}  // namespace

Array pad(Operand x, std::vector<Padding> padding, PadMode mode, PadOptions options, Loc loc) {
  const Call call{"pad", loc};
  return AsOne(call, {x, padding, mode, options}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    if (static_cast<int64_t>(padding.size()) != Rank(a))
      FailShape(call, 16,
                fmt::format("padding of {} for an array of rank {}",
                            base::CountText(padding.size(), "dim"), Rank(a)));
    const auto padded = [&](Array part) {
      for (int64_t d = 0; d < Rank(part); ++d)
        part = PaddedDim(part, d, base::At(padding, d), mode, options, call);
      return part;
    };
    return PadsShards(a, padding) ? PaddedAcross(a, padded, call) : padded(a);
  });
}

Array repeat(Operand x, Array counts, int dim, RepeatOptions options, Loc loc) {
  const Call call{"repeat", loc};
  const Operand times(counts, loc);
  return AsOne(call, {{"operand", x}, {"counts", times}, dim, options},
               [&](const Operand& operand, const Operand& given) {
                 const Array a = ToArray(operand, call);
                 Array n = ToArray(given, call);
                 const int64_t size = base::At(ShapeOf(a), NormalDim(dim, Rank(a), call));
                 if (!TypeOf(n)->dtype().is_integer())
                   FailDType(call, 15,
                             fmt::format("counts are integers, not {}", TypeOf(n)->text()));
                 if (Rank(n) != 1 || (ShapeOf(n)[0] != 1 && ShapeOf(n)[0] != size))
                   FailShape(call, 18,
                             fmt::format("counts of shape {} for {}: give [{}], or [1] for all",
                                         ir::FieldText(ShapeOf(n)),
                                         base::CountText(base::Size(size), "element"), size));
                 n = BroadcastTo(Gathered(n, call), {size}, call);
                 const int64_t total = TotalOf(options.total, counts, size, call);
                 const Array ends = cumsum(Convert(n, i64, call), 0, {}, loc);
                 const Array place =
                     searchsorted(ends, arange(total, {.dtype = i64}, loc), {.right = true}, loc);
                 return take(a, minimum(place, Operand(size - 1, loc), {}, loc), dim,
                             {.out_sharding = options.out_sharding}, loc);
               });
}

}  // namespace tessera

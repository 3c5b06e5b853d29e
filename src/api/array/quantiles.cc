// Quantiles: elements at fractions of the sorted order.
#include "tessera/quantiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/array/between.h"
#include "api/array/weighted_quantiles.h"
#include "api/core/call_modes.h"
#include "api/core/located.h"
#include "base/at.h"

namespace tessera {

using namespace api;

namespace {

// Returns x with the dims as the last one, in their order: [others..., elements].
Array DimsLast(const Array& x, const std::vector<int64_t>& dims, Call call) {
  std::vector<int64_t> order;
  base::Shape shape;
  for (int64_t d = 0; d < Rank(x); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
      order.push_back(d);
      shape.push_back(base::At(ShapeOf(x), d));
    }
  int64_t elements = 1;
  for (int64_t d : dims) {
    order.push_back(d);
    elements *= base::At(ShapeOf(x), d);
  }
  shape.push_back(elements);
  const bool is_ordered = std::is_sorted(order.begin(), order.end());
  const Array moved = is_ordered ? x : transpose(x, order, call.loc);
  return ShapeOf(moved) == shape ? moved : Reshape(moved, shape, call);
}

class Quantiles {
 public:
  Quantiles(QuantileMethod method, Call call) : method_(method), call_(call), loc_(call.loc) {}

  // Returns the quantiles at q, f64 [...], of x [others..., elements]: [..., others...].
  Array Of(const Array& x, const Array& q) const {
    const int64_t n = ShapeOf(x).back();
    const Array sorted = sort(x, -1, {}, loc_);
    // f64 has every position exactly.
    const Array position = mul(q, static_cast<double>(n - 1), {}, loc_);
    const Array low = floor(position, loc_), high = ceil(position, loc_);
    const base::Shape spread = Spread(ShapeOf(q), Rank(x) - 1);
    const Array fraction = Reshape(sub(position, low, {}, loc_), spread, call_);
    const Array between =
        Between(At(sorted, low, n), At(sorted, high, n), fraction, method_, call_);
    const Located share(Reshape(q, spread, call_), loc_);
    const Array is_share = (share >= 0) & (share <= 1);
    const Array has_nan = any(isnan(x, loc_), -1, {}, loc_);
    const Array nan = ScalarLike(std::numeric_limits<double>::quiet_NaN(), TypeOf(x), call_);
    return where(is_share, where(has_nan, nan, between, {}, loc_), nan, {}, loc_);
  }

 private:
  // Returns the elements of the last dim at positions [...]: [..., others...].
  Array At(const Array& sorted, const Array& positions, int64_t n) const {
    const Array index = Convert(clip(positions, 0, static_cast<double>(n - 1), loc_), i64, call_);
    const Array taken = take(sorted, index, -1, {}, loc_);
    const int64_t own = Rank(index), others = Rank(sorted) - 1;
    if (own == 0 || others == 0) return taken;
    std::vector<int64_t> order;
    for (int64_t d = 0; d < own; ++d) order.push_back(others + d);
    for (int64_t d = 0; d < others; ++d) order.push_back(d);
    return transpose(taken, order, loc_);
  }
  // Returns the shape of q with dims of 1 for those of the results: [..., others...].
  static base::Shape Spread(base::Shape shape, int64_t others) {
    shape.insert(shape.end(), base::Size(others), 1);
    return shape;
  }

  const QuantileMethod method_;
  const Call call_;
  const Loc loc_;
};

// Returns the quantiles of the lines of x, whose dims are last.
Array Along(const Array& lines, const Array& x, const std::vector<int64_t>& dims, const Array& q,
            const QuantileOptions& options, Call call) {
  const Loc loc = call.loc;
  if (options.method != QuantileMethod::kInvertedCdf)
    return Quantiles(options.method, call).Of(lines, q);
  const Array weights = DimsLast(WeightsFor(x, options.weights, dims, call), dims, call);
  const Array nan = ScalarLike(std::numeric_limits<double>::quiet_NaN(), TypeOf(x), call);
  return where(any(isnan(lines, loc), -1, {}, loc), nan, InvertedCdf(lines, weights, q, call), {},
               loc);
}

// C17: there must be an element.
Array AlongDims(const Array& x, const Array& q, const Dims& given, const QuantileOptions& options,
                Call call) {
  const std::vector<int64_t> dims = NormalDims(given, Rank(x), call);
  const Array lines = DimsLast(x, dims, call);
  if (ShapeOf(lines).back() == 0) FailShape(call, 17, "there are no elements to choose from");
  const Array made = Along(lines, x, dims, q, options, call);
  if (!options.keepdims) return made;
  base::Shape shape = ShapeOf(q);
  for (int64_t d = 0; d < Rank(x); ++d) {
    const bool is_reduced = std::find(dims.begin(), dims.end(), d) != dims.end();
    shape.push_back(is_reduced ? 1 : base::At(ShapeOf(x), d));
  }
  return Reshape(made, shape, call);
}

// C14: complex numbers have no quantiles.
Array ToReal(const Operand& x, Call call) {
  const Array a = ToFloat(x, call);
  const DType t = TypeOf(a)->dtype();
  if (t.is_complex()) FailDType(call, 14, fmt::format("it takes real numbers, not {}", t.name()));
  return a;
}

// `most`: the value of q that stands for the largest element.
Array Quantile(const char* name, const Operand& x, const Operand& q, double most, const Dims& dims,
               QuantileOptions options, Loc loc) {
  const Call call{name, loc};
  CheckWeights(options, call);
  return AsOneWith(call, {{"operand", x}, {"q", q}, dims, options}, {{"weights", &options.weights}},
                   [&](const Operands& xs) {
                     const Array a = ToReal(xs[0], call);
                     Array fraction = Convert(ToReal(xs[1], call), f64, call);
                     if (most != 1) fraction = div(fraction, most, {}, loc);
                     if (!options.out_sharding) return AlongDims(a, fraction, dims, options, call);
                     // The weights enter as captures.
                     const InsideAutoAxes along = [&](const std::vector<Array>& inside) {
                       return std::vector{AlongDims(inside[0], inside[1], dims, options, call)};
                     };
                     return InAutoAxes({a, fraction}, *options.out_sharding, along, call)[0];
                   });
}

}  // namespace

Array quantile(Operand x, Operand q, Dims dims, QuantileOptions options, Loc loc) {
  return Quantile("quantile", x, q, 1, dims, std::move(options), loc);
}
Array percentile(Operand x, Operand q, Dims dims, QuantileOptions options, Loc loc) {
  return Quantile("percentile", x, q, 100, dims, std::move(options), loc);
}
Array median(Operand x, Dims dims, MedianOptions options, Loc loc) {
  const Call call{"median", loc};
  return AsOne(call, {x, dims, options}, [&](const Operand& operand) {
    return quantile(operand, 0.5, dims,
                    {.method = QuantileMethod::kMidpoint,
                     .keepdims = options.keepdims,
                     .out_sharding = options.out_sharding},
                    loc);
  });
}

}  // namespace tessera

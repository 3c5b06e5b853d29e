// Quantiles of elements with weights, by the sum of the weights in sorted order.
#include "api/array/weighted_quantiles.h"

#include <fmt/format.h>

#include <limits>

#include "api/core/located.h"
#include "base/at.h"
#include "tessera/lookup.h"

namespace tessera::api {

Array InvertedCdf(const Array& x, const Array& weights, const Array& q, Call call) {
  const Loc loc = call.loc;
  const int64_t n = ShapeOf(x).back(), others = Rank(x) - 1;
  const std::vector<Array> sorted = sort({x, weights}, -1, {.num_keys = 1}, loc);
  const Located sums(cumsum(sorted[1], -1, {}, loc), loc);
  const Located total = sums.With(sum(sorted[1], -1, {.keepdims = true}, loc));
  // Elements of weight 0 at the front are passed over, also for q = 0. The last sum is the total,
  // whatever the rounding.
  const Located reached = If(sums > 0, sums / total, -1.0);
  const base::Shape& own = ShapeOf(q);
  base::Shape spread(base::Size(others), 1);
  spread.push_back(TypeOf(q)->elements());
  const Located share(Reshape(q, spread, call), loc);  // [1..., q's elements]
  const Array before = convert_element_type(
      lt(expand_dims(reached, {-2}, loc), expand_dims(share, {-1}, loc), {}, loc), i64, loc);
  const Array place = minimum(sum(before, -1, {}, loc), Operand(n - 1, loc), {}, loc);
  const Located chosen(take_along_dim(sorted[0], place, -1, {}, loc), loc);
  const Array valid = (share >= 0) & (share <= 1) & (total > 0);
  const Array made =
      If(chosen.With(valid), chosen,
         chosen.With(ScalarLike(std::numeric_limits<double>::quiet_NaN(), TypeOf(x), call)));
  base::Shape shape = own;
  shape.insert(shape.end(), ShapeOf(x).begin(), ShapeOf(x).end() - 1);
  return Reshape(moveaxis(made, -1, 0, loc), shape, call);
}

void CheckWeights(const QuantileOptions& options, Call call) {
  if (options.weights.is_given() && options.method != QuantileMethod::kInvertedCdf)
    FailShape(call, 17, "weights need .method = QuantileMethod::kInvertedCdf");
}

Array WeightsFor(const Array& x, const Array& weights, const std::vector<int64_t>& dims,
                 Call call) {
  if (!weights.is_given()) return ones_like(x, {.dtype = f64}, call.loc);
  const Array w = Convert(weights, f64, call);
  if (ShapeOf(w) == ShapeOf(x)) return w;
  if (Rank(w) != 1 || dims.size() != 1 || ShapeOf(w)[0] != base::At(ShapeOf(x), dims[0]))
    FailShape(call, 18,
              fmt::format("the weights have shape {}, which is neither that of x, {}, nor [n] "
                          "along one dim",
                          ir::FieldText(ShapeOf(w)), ir::FieldText(ShapeOf(x))));
  base::Shape shape(base::Size(Rank(x)), 1);
  base::At(shape, dims[0]) = ShapeOf(w)[0];
  return BroadcastTo(Reshape(w, shape, call), ShapeOf(x), call);
}

}  // namespace tessera::api

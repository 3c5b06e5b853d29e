// Quantiles and sums of exponentials with weights, and histograms over devices.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tessera/tessera.h"

namespace tessera::weighted_quantiles_test {
namespace {

constexpr QuantileMethod kInverted = QuantileMethod::kInvertedCdf;

Array F64(std::vector<double> values) { return array(values, {.dtype = f64}); }
bool Same(const Array& a, const Array& b) {
  return array_equal(a, b, {.equal_nan = true}).item<bool>();
}

// numpy.quantile(x, q, weights=w, method='inverted_cdf') of NumPy 2.
TEST(WeightedQuantiles, AreThoseOfNumPy) {
  const Array x = F64({3, 1, 4, 1, 5, 9, 2, 6}), w = F64({0, 2, 1, 1, 0.5, 0, 3, 2.5});
  const Array q = F64({0, 0.1, 0.3, 0.31, 0.6, 0.7, 0.95, 1});
  EXPECT_TRUE(Same(quantile(x, q, All, {.method = kInverted, .weights = w}),
                   F64({1, 1, 1, 2, 2, 4, 6, 6})));
  EXPECT_TRUE(Same(quantile(x, q, All, {.method = kInverted}), F64({1, 1, 2, 2, 4, 5, 9, 9})));
  EXPECT_TRUE(Same(percentile(x, 70, All, {.method = kInverted, .weights = w}), F64({4})[0]));
  // A weight for each place along one dim, and a repeated element for a whole weight.
  const Array rows = stack({x, 2 * x});
  EXPECT_TRUE(Same(quantile(rows, q, 1, {.method = kInverted, .weights = w}),
                   stack({F64({1, 1, 1, 2, 2, 4, 6, 6}), F64({2, 2, 2, 4, 4, 8, 12, 12})}, 1)));
  const Array kept = quantile(rows, 0.5, 1, {.method = kInverted, .keepdims = true, .weights = w});
  EXPECT_EQ(type_of(kept).text(), "f64[2,1]");
  EXPECT_TRUE(
      Same(quantile(F64({7, 8, 9}), 0.5, All, {.method = kInverted, .weights = array({1, 1, 3})}),
           F64({9})[0]));
}

TEST(WeightedQuantiles, BadNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array x = F64({1, nan, 3}), w = F64({1, 5, 2});
  EXPECT_TRUE(isnan(quantile(x, 0.5, All, {.method = kInverted, .weights = w})).item<bool>());
  EXPECT_EQ(nanquantile(x, 0.5, All, {.method = kInverted, .weights = w}).item<double>(), 3);
  EXPECT_EQ(nanquantile(x, 0.3, All, {.method = kInverted, .weights = w}).item<double>(), 1);
  EXPECT_TRUE(isnan(quantile(F64({1, 2}), 0.5, All, {.method = kInverted, .weights = F64({0, 0})}))
                  .item<bool>());
  EXPECT_TRUE(isnan(quantile(F64({1, 2}), 1.5, All, {.method = kInverted})).item<bool>());
  EXPECT_THROW(quantile(x, 0.5, All, {.weights = w}), ShapeError);
  EXPECT_THROW(quantile(x, 0.5, All, {.method = kInverted, .weights = F64({1, 2})}), ShapeError);
}

TEST(WeightedQuantiles, OfShards) {
  SetDeviceCount(2);
  {
    MeshScope scope(make_mesh({{"x", 2}}));
    const Array x = F64({3, 1, 4, 1, 5, 9, 2, 6}), w = F64({0, 2, 1, 1, 0.5, 0, 3, 2.5});
    const Array made =
        quantile(reshard(x, P("x")), 0.7, All,
                 {.method = kInverted, .out_sharding = P(), .weights = reshard(w, P("x"))});
    EXPECT_EQ(made.item<double>(), 4);
    const Array slope = grad(
        [&](Array v) { return quantile(v, 0.7, All, {.method = kInverted, .weights = w}); })(x);
    EXPECT_TRUE(Same(slope, F64({0, 0, 1, 0, 0, 0, 0, 0})));
  }
  SetDeviceCount(1);
}

// Elements of weight 0 count as nothing also where e^x overflows.
TEST(LogSumExp, WeightsOfZero) {
  const Array x = F64({1, 2, 800}), w = F64({0, 3, 0});
  const auto of_x = [&](Array v) { return logsumexp(v, All, {.weights = w}); };
  const auto of_w = [&](Array v) { return logsumexp(x, All, {.weights = v}); };
  EXPECT_NEAR(of_x(x).item<double>(), 2 + std::log(3.0), 1e-14);
  EXPECT_TRUE(Same(grad(of_x)(x), F64({0, 1, 0})));
  EXPECT_TRUE(allclose(grad(of_w)(w), F64({std::exp(-1.0) / 3, 1.0 / 3, 0})).item<bool>());
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Same(logsumexp(F64({inf, 2}), All, {.weights = F64({0, 1})}), F64({2})[0]));
  EXPECT_TRUE(isnan(logsumexp(F64({1, 2}), All, {.weights = F64({-1, 0})})).item<bool>());
}

TEST(Histograms, CountsTakeASharding) {
  SetDeviceCount(4);
  {
    MeshScope scope(make_mesh({{"x", 4}}));
    const Array x = random::uniform(random::key(1), {64}),
                y = random::uniform(random::key(2), {64});
    const std::pair range(0.0, 1.0);
    const Array want = histogram(x, {.bins = 8, .range = range}).counts;
    for (const Array& a : {x, reshard(x, P("x"))}) {
      const Array made = histogram(a, {.bins = 8, .range = range, .out_sharding = P("x")}).counts;
      EXPECT_EQ(type_of(made).text(), "i32[8@x]");
      EXPECT_TRUE(Same(reshard(made, P()), want));
      EXPECT_EQ(type_of(histogram(a, {.bins = 8, .range = range}).counts).text(), "i32[8]");
    }
    const auto points = histogram2d(reshard(x, P("x")), reshard(y, P("x")),
                                    {.bins = {4}, .range = {range}, .out_sharding = P(None, "x")});
    EXPECT_EQ(type_of(points.counts).text(), "i32[4,4@x]");
    EXPECT_EQ(sum(points.counts).item<int>(), 64);
    const auto boxes = histogramdd(reshard(stack({x, y}, 1), P("x", None)),
                                   {.bins = {4}, .range = {range}, .out_sharding = P("x", None)});
    EXPECT_TRUE(Same(reshard(boxes.counts, P()), reshard(points.counts, P())));
    EXPECT_THROW(histogram(x, {.bins = 6, .out_sharding = P("x")}), ShardingError);
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::weighted_quantiles_test

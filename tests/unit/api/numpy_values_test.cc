// Values at the ends: evenly spaced numbers, quantiles and lines beside infinity, large counts.
#include <gmock/gmock.h>
#include <tessera/pieces.h>
#include <tessera/sets.h>
#include <tessera/statistics.h>
#include <tessera/tessera.h>

#include <cmath>
#include <limits>

namespace tessera::numpy_values_test {
namespace {

using testing::ElementsAre;
using testing::NanSensitiveDoubleEq;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> Numbers(const Array& x) { return x.astype(f64).to_vector<double>(); }

void ExpectNumbers(const Array& x, std::initializer_list<double> want) {
  std::vector<testing::Matcher<double>> each;
  for (double w : want) each.emplace_back(NanSensitiveDoubleEq(w));
  EXPECT_THAT(Numbers(x), testing::ElementsAreArray(each));
}

// numpy.linspace in f64.
std::vector<double> NumpyLinspace(double lo, double hi, int64_t n) {
  const double steps = static_cast<double>(n - 1), step = (hi - lo) / steps;
  std::vector<double> made;
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<double>(i);
    made.push_back(i == n - 1 ? hi : lo + (step == 0 ? at / steps * (hi - lo) : at * step));
  }
  return made;
}

TEST(Linspace, HasTheNumbersOfNumpy) {
  const std::vector<std::pair<double, double>> ends = {{0, 100}, {0, 1000},  {5, 5},        {-3, 7},
                                                       {1, 0},   {0.1, 0.7}, {1e8, 1e8 + 1}};
  for (const auto& [lo, hi] : ends)
    for (int64_t n : {2, 3, 11, 24, 101, 1001}) {
      SCOPED_TRACE(testing::Message() << lo << " to " << hi << ", " << n);
      const std::vector<double> want = NumpyLinspace(lo, hi, n);
      EXPECT_EQ(Numbers(linspace(lo, hi, n, {.dtype = f64})), want);
      std::vector<double> rounded, floored;
      for (double w : want) {
        rounded.push_back(static_cast<float>(w));
        floored.push_back(std::floor(w));
      }
      EXPECT_EQ(Numbers(linspace(lo, hi, n, {.dtype = f32})), rounded);
      EXPECT_EQ(Numbers(linspace(lo, hi, n, {.dtype = i32})), floored);
    }
}

TEST(Linspace, IsInOrder) {
  for (DType t : {f16, bf16, f32, f64})
    for (int i = 0; i < 50; ++i) {
      const double lo = std::cos(i) * 10, hi = lo + std::pow(10, -i % 7);
      const Array up = linspace(lo, hi, 97, {.dtype = t});
      const Array down = linspace(hi, lo, 97, {.dtype = t});
      EXPECT_TRUE(all(diff(up) >= 0).item<bool>()) << lo << " " << hi << " " << t.name();
      EXPECT_TRUE(all(diff(down) <= 0).item<bool>()) << lo << " " << hi << " " << t.name();
      EXPECT_TRUE(all(diff(histogram_bin_edges(array({lo, hi}).astype(t), {.bins = 97})) >= 0)
                      .item<bool>());
    }
}

TEST(Linspace, PowersOfTenAreExact) {
  ExpectNumbers(logspace(0, 5, 6), {1, 10, 100, 1e3, 1e4, 1e5});
  ExpectNumbers(logspace(0, 5, 6, {.dtype = i32}), {1, 10, 100, 1e3, 1e4, 1e5});
  ExpectNumbers(geomspace(1.0, 1000.0, 4), {1, 10, 100, 1000});
  ExpectNumbers(geomspace(-1000.0, -1.0, 4), {-1000, -100, -10, -1});
  ExpectNumbers(geomspace(1, 256, 9), {1, 2, 4, 8, 16, 32, 64, 128, 256});
}

TEST(Quantile, BesideInfinityDoesNotMultiplyItByZero) {
  const Array x = array({1.0, 2.0, kInf});
  ExpectNumbers(quantile(x, array({0.0, 0.5, 0.75, 1.0})), {1, 2, kInf, kInf});
  ExpectNumbers(nanquantile(x, array({0.0, 0.5, 0.75, 1.0})), {1, 2, kInf, kInf});
  ExpectNumbers(quantile(array({-kInf, 1.0}), array({0.0, 0.5, 1.0})), {-kInf, -kInf, 1});
  ExpectNumbers(median(array({-kInf, kInf})), {kNan});
  const Array large = array({60000.0, 60000.0, 60000.0, 65000.0}, {.dtype = f16});
  ExpectNumbers(median(large), {60000});
  ExpectNumbers(nanmedian(large), {60000});
}

TEST(Quantile, OutsideOfItsRangeIsNan) {
  const Array x = array({1.0, 2.0, 3.0});
  ExpectNumbers(quantile(x, array({-0.1, 0.0, 1.0, 1.1, kNan})), {kNan, 1, 3, kNan, kNan});
  ExpectNumbers(nanquantile(x, array({-0.1, 0.0, 1.0, 1.1, kNan})), {kNan, 1, 3, kNan, kNan});
  ExpectNumbers(percentile(x, array({-1.0, 100.0, 101.0})), {kNan, 3, kNan});
  const Array lower = quantile(x, 2.0, All, {.method = QuantileMethod::kLower});
  ExpectNumbers(lower, {kNan});
}

TEST(Interp, BesideInfinityHasTheValuesOfPoints) {
  const Array at = array({1.0, 1.5, 2.0, 2.5, 3.0}), places = array({1.0, 2.0, 3.0});
  ExpectNumbers(interp(at, places, array({1.0, 2.0, kInf})), {1, 1.5, 2, kInf, kInf});
  ExpectNumbers(interp(at, places, array({-kInf, 2.0, 4.0})), {-kInf, -kInf, 2, 3, 4});
  ExpectNumbers(interp(at, places, array({1.0, kInf, kInf})), {1, kInf, kInf, kInf, kInf});
  const auto total = [&](Array x) { return sum(interp(x, places, array({1.0, 2.0, kInf}))); };
  ExpectNumbers(grad(total)(array({1.5, 1.0})), {1, 1});
}

TEST(Histogram, CountsExactly) {
  constexpr int64_t kMany = 20'000'000;
  const Histogram made = histogram(ones({kMany}), {.bins = 2});
  EXPECT_THAT(made.counts.to_vector<int32_t>(), ElementsAre(0, static_cast<int32_t>(kMany)));
  const Array density = histogram(array({1.0, 2.0, 2.5}), {.bins = 2, .density = true}).counts;
  EXPECT_EQ(density.dtype(), histogram_bin_edges(array({1.0})).dtype());
}

TEST(Histogram, RefusesBinsAroundNan) {
  for (double x : {kNan, kInf}) {
    EXPECT_THROW(histogram(array({1.0, x})), ShapeError);
    EXPECT_THROW(histogram_bin_edges(array({1.0, x})), ShapeError);
    EXPECT_THROW(histogram2d(array({1.0, x}), array({1.0, 2.0})), ShapeError);
    ExpectNumbers(histogram(array({1.0, x}), {.bins = 2, .range = std::pair(0.0, 2.0)}).counts,
                  {0, 1});
    const auto traced = jit([](Array a) { return histogram(a, {.bins = 2}).counts; });
    ExpectNumbers(traced(array({1.0, x})), {-1, -1});
  }
}

}  // namespace
}  // namespace tessera::numpy_values_test

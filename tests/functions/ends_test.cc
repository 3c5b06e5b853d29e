// Results at the ends of ranges that no line of points.jsonl has: ints, signs of zeros, tails of
// distributions, and numbers beside arrays.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <limits>

namespace tessera::ends_test {
namespace {

using Numbers = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

Array Doubles(const Numbers& values) { return array(values, {.dtype = f64}); }

TEST(Ends, GcdAndLcmOfTheLowestInt) {
  const Array lowest = full({2}, std::numeric_limits<int32_t>::min(), {.dtype = i32});
  EXPECT_EQ(gcd(lowest, array({6, -12})).to_vector<int32_t>(), (std::vector<int32_t>{2, 4}));
  EXPECT_EQ(gcd(array({6, -12}), lowest).to_vector<int32_t>(), (std::vector<int32_t>{2, 4}));
  EXPECT_EQ(lcm(array({4, -6}), array({-6, 4})).to_vector<int32_t>(),
            (std::vector<int32_t>{12, 12}));
}

// As in NumPy.
TEST(Ends, QuotientsOfIntsBy0Are0) {
  for (DType t : {i8, i32, i64, u8, u64}) {
    const Array x = astype(array({7, 0, 5}), t), y = astype(array({0, 0, 2}), t);
    EXPECT_EQ(astype(floor_divide(x, y), i32).to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 2}))
        << t.name();
    EXPECT_EQ(astype(remainder(x, y), i32).to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 1}))
        << t.name();
  }
}

// As in NumPy and Python.
TEST(Ends, ARemainderOf0HasTheSignOfTheDivisor) {
  const Numbers made =
      remainder(Doubles({-1, 1, -0.0, 0, 3, -3}), Doubles({1, 1, 1, -1, -1.5, 1.5}))
          .to_vector<double>();
  for (double x : made) EXPECT_EQ(x, 0);
  EXPECT_EQ(
      (std::vector<bool>{std::signbit(made[0]), std::signbit(made[1]), std::signbit(made[2]),
                         std::signbit(made[3]), std::signbit(made[4]), std::signbit(made[5])}),
      (std::vector<bool>{false, false, false, true, true, false}));
  const auto slope = grad([](Array v) { return sum(remainder(v, 2.0)); })(Doubles({-4, 0, 3}));
  EXPECT_EQ(slope.to_vector<double>(), (Numbers{1, 1, 1}));
}

// The mean of a normal number between two bounds is (density(lo) - density(hi)) / (tail(lo) -
// tail(hi)).
TEST(Ends, TruncatedNormalsInTheTail) {
  struct Case {
    double lo, hi, mean;  // mean from mpmath
  };
  constexpr int64_t kCount = 20000;
  for (const Case& c : {Case{8, 9, 8.12118899},
                        {20, 21, 20.04975307},
                        {3, kInf, 3.28309865},
                        {-9, -8, -8.12118899},
                        {-kInf, -40, -40.02496885}})
    for (DType t : {f32, f64}) {
      const Array x =
          random::truncated_normal(random::key(3), c.lo, c.hi, Shape(kCount), {.dtype = t});
      const Numbers made = astype(x, f64).to_vector<double>();
      double sum = 0;
      for (double v : made) {
        EXPECT_TRUE(v > c.lo && v < c.hi) << v;
        sum += v;
      }
      // A number differs from the mean by about 1 / |mean|.
      EXPECT_NEAR(sum / kCount, c.mean, 5 / std::fabs(c.mean) / std::sqrt(kCount)) << t.name();
      const Array arrays = random::truncated_normal(random::key(3), full({2}, c.lo, {.dtype = t}),
                                                    full({2}, c.hi, {.dtype = t}));
      for (double v : astype(arrays, f64).to_vector<double>())
        EXPECT_TRUE(v > c.lo && v < c.hi) << v;
    }
}

TEST(Ends, ANumberBesideF64IsNotRoundedToF32) {
  const Array x = Doubles({1, 3}), tenth(0.1);
  const Numbers wanted{0.1, 3 * 0.1};
  EXPECT_EQ(tenth.dtype(), f32);
  EXPECT_EQ((x * tenth).to_vector<double>(), wanted);
  EXPECT_EQ((tenth * x).to_vector<double>(), wanted);
  EXPECT_EQ(jit([&](Array v) { return v * tenth; })(x).to_vector<double>(), wanted);
  EXPECT_EQ(jit([](Array v) { return v * Array(0.1); })(x).to_vector<double>(), wanted);
  EXPECT_EQ(astype(tenth, f64).item<double>(), 0.1);
  EXPECT_EQ((full({1}, 1, {.dtype = f16}) * tenth).dtype(), f16);
  const Array c = complex(x, x) * Array(std::complex<double>(0.1, 0));
  EXPECT_EQ(real(c).to_vector<double>(), wanted);
}

// A slope that is infinite counts only if its operand has a tangent.
TEST(Ends, ZeroTangentsTimesInfiniteSlopes) {
  const Array x = Doubles({0, 1, 2}), y = Doubles({0, 0, 5e-324}), ones = ones_like(x);
  const auto of_x = jvp([&](Array v) { return xlogy(v, y); }, x, ones).second;
  EXPECT_EQ(of_x.to_vector<double>(), (Numbers{-kInf, -kInf, std::log(5e-324)}));
  const auto of_y = jvp([&](Array v) { return xlogy(x, v); }, y, ones).second;
  EXPECT_EQ(of_y.to_vector<double>(), (Numbers{0, kInf, kInf}));
}

// A tie of a maximum shares the slope; functions that only keep their points within bounds do not.
TEST(Ends, LinspaceOfEqualBounds) {
  const auto points = [](Array lo, Array hi) { return linspace(lo, hi, 5); };
  const Array five = full({}, 5, {.dtype = f64});
  EXPECT_EQ(jacfwd([&](Array v) { return points(v, five); })(five).to_vector<double>(),
            (Numbers{1, 0.75, 0.5, 0.25, 0}));
  EXPECT_EQ(jacrev([&](Array v) { return points(five, v); })(five).to_vector<double>(),
            (Numbers{0, 0.25, 0.5, 0.75, 1}));
}

TEST(Ends, QuantilesOfEqualElementsShareTheSlope) {
  const auto slope = [](auto f, const Numbers& x) { return grad(f)(Doubles(x)); };
  const auto half = [](Array v) { return quantile(v, 0.5); };
  const auto middle = [](Array v) { return median(v); };
  const auto numbers = [](Array v) { return nanquantile(v, 0.5); };
  EXPECT_EQ(slope(half, {1, 2, 2, 3}).to_vector<double>(), (Numbers{0, 0.5, 0.5, 0}));
  EXPECT_EQ(slope(numbers, {1, 2, 2, 3}).to_vector<double>(), (Numbers{0, 0.5, 0.5, 0}));
  EXPECT_EQ(slope(middle, {2, 2}).to_vector<double>(), (Numbers{0.5, 0.5}));
  EXPECT_EQ(slope(middle, {1, 2, 3}).to_vector<double>(), (Numbers{0, 1, 0}));
  const Numbers tenths(7, 0.1);
  EXPECT_EQ(quantile(Doubles(tenths), 0.3).item<double>(), 0.1);
}

TEST(Ends, QuantilesBesideInfinity) {
  const Array x = array({1.0, kInf}), minus = array({-kInf, 1.0});
  const Array tiny = full({}, 1e-50, {.dtype = f64}), most = full({}, 1 - 0x1p-50, {.dtype = f64});
  EXPECT_EQ(quantile(x, tiny).item<float>(), kInf);
  EXPECT_EQ(quantile(minus, most).item<float>(), -kInf);
  EXPECT_EQ(quantile(array({kInf, kInf}), 0.5).item<float>(), kInf);
  EXPECT_EQ(quantile(x, 0.0).item<float>(), 1);
  EXPECT_EQ(quantile(x, 1.0).item<float>(), kInf);
}

// The slope of the mean E in the bound lo is density(lo) (E - lo) / mass, from mpmath.
TEST(Ends, SlopesOfTruncatedNormalsInTheTail) {
  struct Case {
    double lo, hi, slope;
  };
  constexpr int64_t kCount = 20000;
  for (const Case& c : {Case{3, kInf, 0.92944}, {6, 7, 0.96944}, {8, 9, 0.98440}})
    for (DType t : {f32, f64}) {
      const auto mean_of = [&](Array lo) {
        return mean(
            random::truncated_normal(random::key(3), lo, c.hi, Shape(kCount), {.dtype = t}));
      };
      const double slope = astype(grad(mean_of)(full({}, c.lo, {.dtype = t})), f64).item<double>();
      EXPECT_NEAR(slope, c.slope, 0.01) << c.lo << " " << t.name();
      const auto below = [&](Array hi) {
        return mean(
            random::truncated_normal(random::key(3), -c.hi, hi, Shape(kCount), {.dtype = t}));
      };
      const double mirrored =
          astype(grad(below)(full({}, -c.lo, {.dtype = t})), f64).item<double>();
      EXPECT_NEAR(mirrored, c.slope, 0.01) << c.lo << " " << t.name();
    }
}

TEST(Ends, SlopesOfModifiedBesselFunctionsThatOverflow) {
  const auto slope = [](const Array& x) {
    return astype(grad([](Array v) { return sum(i1(v)); })(x), f64).to_vector<double>();
  };
  const auto second = [](const Array& x) {
    const auto first = [](Array v) { return sum(grad([](Array u) { return sum(i0(u)); })(v)); };
    return astype(grad(first)(x), f64).to_vector<double>();
  };
  const Array wide = Doubles({714.5, 800, -800, kInf, -kInf}), narrow = array({95.0, -95.0, kInf});
  EXPECT_THAT(slope(wide), testing::Each(kInf));
  EXPECT_THAT(slope(narrow), testing::Each(kInf));
  EXPECT_THAT(second(wide), testing::Each(kInf));
}

// Values of SciPy, where gamma functions of the formulas are infinite.
TEST(Ends, BetaAndPochAtPoles) {
  EXPECT_EQ(
      beta(Doubles({-0.5, -1.5, -0.5, 0.5}), Doubles({-0.5, -0.5, -2.5, -0.5})).to_vector<double>(),
      (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(beta(array({-0.5, -171.5}), array({-0.5, -0.5})).to_vector<float>(),
            (std::vector<float>{0, 0}));
  EXPECT_EQ(poch(Doubles({0, 0, -170.5, -0.5, 0, 0}), Doubles({-1, -2, 0.5, 0.5, 2, 0}))
                .to_vector<double>(),
            (Numbers{-1, 0.5, kInf, kInf, 0, 1}));
}

TEST(Ends, SquareplusOfB0) {
  const auto slopes = [](double x) {
    const auto f = [](Array v, Array b) { return squareplus(v, b); };
    return grad<0, 1>(f)(full({}, x, {.dtype = f64}), full({}, 0, {.dtype = f64}));
  };
  const auto [up, up_b] = slopes(1);
  EXPECT_EQ(up.item<double>(), 1);
  EXPECT_EQ(up_b.item<double>(), 0.25);
  const auto [down, down_b] = slopes(-2);
  EXPECT_EQ(down.item<double>(), 0);
  EXPECT_EQ(down_b.item<double>(), 0.125);
}

}  // namespace
}  // namespace tessera::ends_test

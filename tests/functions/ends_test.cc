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

}  // namespace
}  // namespace tessera::ends_test

// Random numbers: the same for every mesh, sharding and mode; distributed as they should be.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <sstream>

#include "trace/scopes.h"

namespace tessera::random_test {
namespace {

using Numbers = std::vector<double>;

// ---- the same numbers everywhere ----------------------------------------------------------------

struct Draw {
  const char* name;
  std::function<Array(Array key, std::optional<PartitionSpec> out)> make;  // [8, 12]
  bool adds = false;  // over a dim: how it is sharded may show in the last place
};

const std::vector<Draw>& Draws() {
  using Spec = std::optional<PartitionSpec>;
  static const std::vector<Draw> draws = {
      {"bits",
       [](Array k, Spec o) {
         return random::bits(k, {8, 12}, {.out_sharding = o});
       }},
      {"u8",
       [](Array k, Spec o) {
         return random::bits(k, {8, 12}, {u8, o});
       }},
      {"u64",
       [](Array k, Spec o) {
         return random::bits(k, {8, 12}, {u64, o});
       }},
      {"normal",
       [](Array k, Spec o) {
         return random::normal(k, {8, 12}, {.out_sharding = o});
       }},
      {"normal_f64",
       [](Array k, Spec o) {
         return random::normal(k, {8, 12}, {f64, o});
       }},
      {"uniform_bf16",
       [](Array k, Spec o) {
         return random::uniform(k, {8, 12},
                                {.dtype = bf16, .minval = -1, .maxval = 2.5, .out_sharding = o});
       }},
      {"gumbel",
       [](Array k, Spec o) {
         return random::gumbel(k, {8, 12}, {.out_sharding = o});
       }},
      {"randint",
       [](Array k, Spec o) {
         return random::randint(k, {8, 12}, -5, 1000, {.out_sharding = o});
       }},
      {"bernoulli",
       [](Array k, Spec o) {
         return random::bernoulli(k, full({12}, 0.3f), {8, 12}, {.out_sharding = o});
       }},
      {"truncated",
       [](Array k, Spec o) {
         return random::truncated_normal(k, -1.0, full({8, 1}, 2.0f), {8, 12}, {.out_sharding = o});
       }},
      {"gamma",
       [](Array k, Spec o) {
         return random::gamma(k, full({12}, 0.7f), {8, 12}, {.out_sharding = o});
       }},
      {"beta",
       [](Array k, Spec o) {
         return random::beta(k, 0.5, 2.0, {8, 12}, {.out_sharding = o});
       }},
      {"dirichlet",
       [](Array k, Spec o) {
         return random::dirichlet(k, full({12}, 0.5f), Shape(8), {.out_sharding = o});
       },
       /*adds=*/true},
      {"poisson",
       [](Array k, Spec o) {
         return random::poisson(k, 12.0, {8, 12}, {.out_sharding = o});
       }},
      {"chisquare",
       [](Array k, Spec o) {
         return random::chisquare(k, full({12}, 3.0f), {8, 12}, {.out_sharding = o});
       }},
      {"student",
       [](Array k, Spec o) {
         return random::t(k, 4.0, {8, 12}, {.out_sharding = o});
       }},
      {"weibull",
       [](Array k, Spec o) {
         return random::weibull_min(k, 2.0, full({8, 1}, 1.5f), {8, 12}, {.out_sharding = o});
       }},
      {"geometric",
       [](Array k, Spec o) {
         return random::geometric(k, 0.1, {8, 12}, {.out_sharding = o});
       }},
      {"binomial",
       [](Array k, Spec o) {
         const Array n = array({3., 40., 500.}).reshape({3, 1}) * ones({3, 4});
         return random::binomial(k, n.reshape({12}), 0.3, {8, 12}, {.out_sharding = o});
       }},
      {"multivariate_normal",
       [](Array k, Spec o) {
         const Array cov = eye(12) + 0.5f;
         return random::multivariate_normal(k, arange(12.), cov, Shape(8), {.out_sharding = o});
       },
       /*adds=*/true},
      {"orthogonal",
       [](Array k, Spec o) { return random::orthogonal(k, 8, {}, {.m = 12, .out_sharding = o}); },
       /*adds=*/true},
      {"ball",
       [](Array k, Spec o) { return random::ball(k, 12, Shape(8), {.p = 3, .out_sharding = o}); },
       /*adds=*/true},
      {"categorical",
       [](Array k, Spec o) {
         return random::categorical(k, zeros({12, 5}), -1,
                                    {.shape = Shape{8, 12}, .out_sharding = o});
       }},
      {"permutation",
       [](Array k, Spec o) {
         return random::permutation(k, iota({8, 12}, 0), {.independent = true, .out_sharding = o});
       }},
      {"choice",
       [](Array k, Spec o) {
         return random::choice(k, 50, {8, 12}, {.out_sharding = o});
       }},
  };
  return draws;
}

Numbers Values(const Array& x) {
  return x.dtype() == u64 ? astype(x, f64).to_vector<double>() : x.to_vector<double>();
}

class SameEverywhere : public ::testing::TestWithParam<Draw> {
 protected:
  void SetUp() override {
    SetDeviceCount(8);
    want_ = Values(GetParam().make(random::key(7), {}));
  }
  void ExpectSame(const Array& x) const {
    if (GetParam().adds)
      EXPECT_THAT(Values(x), ::testing::Pointwise(::testing::DoubleNear(1e-6), want_));
    else
      EXPECT_EQ(Values(x), want_);
  }

 private:
  Numbers want_;
};

TEST_P(SameEverywhere, OnEveryMeshAndInEverySharding) {
  const Draw& draw = GetParam();
  const PartitionSpec specs[] = {P(), P("x", None), P(None, "x"), P("x", "y"), P({"y", "x"}, None)};
  for (const auto& [x, y] : {std::pair(1, 1), {2, 2}, {4, 2}, {2, 3}}) {
    MeshScope scope(make_mesh({{"x", x}, {"y", y}}));
    const Array key = random::key(7);
    for (const PartitionSpec& spec : specs) {
      SCOPED_TRACE(spec.text());
      const auto axes = [&](size_t d) {
        int64_t n = 1;
        if (d < spec.dims().size())
          for (const AxisRef& a : spec.dims()[d].axes()) n *= a.name == "x" ? x : y;
        return n;
      };
      if (8 % axes(0) != 0 || 12 % axes(1) != 0) continue;
      const Array eager = draw.make(key, spec);
      ExpectSame(eager);
      EXPECT_EQ(type_of(eager), type_of(reshard(eager, spec)));
      ExpectSame(jit([&](Array k) { return draw.make(k, spec); })(key));
    }
  }
}

TEST_P(SameEverywhere, OverAutoAxesInLoopsAndMapped) {
  const Draw& draw = GetParam();
  {
    MeshScope scope(make_mesh({{"x", 2, Auto}, {"y", 2, Auto}}));
    const auto laid =
        jit([&](Array k) { return with_sharding_constraint(draw.make(k, {}), P("y", "x")); });
    ExpectSame(laid(random::key(7)));
  }
  const Array keys =
      random::wrap_key_data(array(std::vector<uint32_t>{0, 3, 0, 7}, {.shape = Shape{2, 2}}));
  const auto one = [&](Array k) { return draw.make(k, {}); };
  ExpectSame(vmap(one)(keys)[1]);
  const auto step = [&](Array carry, Array k) { return std::pair(carry + 1, draw.make(k, {})); };
  ExpectSame(scan(step, Array(0), keys).second[1]);
  ExpectSame(checkpoint(one)(keys[1]));
}

INSTANTIATE_TEST_SUITE_P(Random, SameEverywhere, ::testing::ValuesIn(Draws()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RandomKeys, MoveAsOtherElementsDo) {
  const Array key = random::key(-1), keys = random::split(key, {2, 3});
  EXPECT_EQ(type_of(keys).text(), "key<fry>[2,3]");
  EXPECT_EQ(ArrayType::Parse("key<fry>[2,3]"), type_of(keys));
  const auto words = [](const Array& k) { return random::key_data(k).to_vector<uint32_t>(); };
  EXPECT_EQ(words(key), (std::vector<uint32_t>{~0u, ~0u}));
  EXPECT_EQ(words(random::wrap_key_data(random::key_data(keys))), words(keys));
  EXPECT_EQ(words(concatenate({keys, keys}, 0)[{3, 1}]), words(keys[{1, 1}]));
  EXPECT_EQ(words(transpose(keys).reshape({6})[1]), words(keys[{1, 0}]));
  EXPECT_EQ(words(where(array({true, false, true}), keys[0], keys[1])[1]), words(keys[{1, 1}]));
  EXPECT_TRUE(all(keys == random::split(key, {2, 3})).item<bool>());
  EXPECT_FALSE(any(keys[0] == keys[1]).item<bool>());
  const auto [a, b] = random::split<2>(key);
  EXPECT_EQ(words(stack({a, b})), words(random::split(key)));
  EXPECT_EQ(words(a), words(random::fold_in(key, 0)));
}

TEST(RandomKeys, AreSharded) {
  SetDeviceCount(8);
  const auto words = [](const Array& k) { return random::key_data(k).to_vector<uint32_t>(); };
  const auto draw = vmap([](Array k) { return random::normal(k, {3}); });
  const Array whole = random::split(random::key(5), 8);
  const std::vector<uint32_t> want = words(whole);
  const Numbers drawn = Values(draw(whole));
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  const Array keys = reshard(whole, P({"x", "y"}));
  EXPECT_EQ(type_of(keys).text(), "key<fry>[8@(x,y)]");
  EXPECT_EQ(words(keys), want);
  EXPECT_EQ(type_of(draw(keys)).text(), "f32[8@(x,y),3]");
  EXPECT_EQ(Values(draw(keys)), drawn);
  EXPECT_EQ(words(reshard(keys, P("y"))), want);
  const Array third = keys.at(array({3})).get({.out_sharding = P()});
  EXPECT_EQ(words(third), words(whole[Slice(3, 4)]));
  EXPECT_EQ(type_of(random::normal(third[0], {8}, {.out_sharding = P("x")})).text(), "f32[8@x]");
  std::ostringstream text;
  text << random::key(255);
  EXPECT_EQ(text.str(), "key<fry>[] 00000000000000ff");
  EXPECT_EQ(type_of(random::uniform(abstract_array("key<fry>[]"), {4})).text(), "f32[4]");
}

TEST(RandomKeys, GoThroughTransformsBesideFloats) {
  const auto noisy = [](Array k, Array w) { return sum(square(w * random::normal(k, {4}))); };
  const Array key = random::key(3), w = ones({4});
  const Array z = random::normal(key, {4});
  EXPECT_THAT(Values(grad<1>(noisy)(key, w)),
              ::testing::Pointwise(::testing::FloatNear(1e-6), Values(2 * w * z * z)));
  // A carry of a loop: the key of the next step, and a sum.
  const auto step = [](std::pair<Array, Array> c) {
    const auto [next, now] = random::split<2>(c.first);
    return std::pair(next, c.second + random::uniform(now));
  };
  std::pair<Array, Array> by_hand(key, Array(0.0f));
  for (int i = 0; i < 3; ++i) by_hand = step(by_hand);
  const auto body = [&](Array, std::pair<Array, Array> c) { return step(c); };
  const auto looped = fori_loop(0, 3, body, std::pair(key, Array(0.0f)));
  EXPECT_FLOAT_EQ(looped.second.item<float>(), by_hand.second.item<float>());
  const Array chosen = cond(
      Array(true), [](Array k) { return random::fold_in(k, 1); }, [](Array k) { return k; }, key);
  EXPECT_TRUE((chosen == random::fold_in(key, 1)).item<bool>());
}

TEST(RandomDraws, AreOneProgramThatSendsNothing) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8}}));
  const auto draw = jit([](Array k) {
    return random::normal(k, {64, 8}, {.out_sharding = P("x")});
  });
  const Lowered lowered = draw.lower(random::key(0));
  EXPECT_TRUE(lowered.comm().empty());
  // The result and the key: neither an index nor a step between is kept.
  EXPECT_EQ(lowered.peak_bytes(), 64 * 8 * 4 / 8 + 8);
}

// ---- distributions ------------------------------------------------------------------------------

struct Distribution {
  const char* name;
  std::function<Array(Array key, int64_t n)> draw;
  double mean, variance;
  std::function<double(double)> cdf;  // of a continuous one
};

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

const std::vector<Distribution>& Distributions() {
  constexpr double kEuler = 0.57721566490153286, kPi2 = std::numbers::pi * std::numbers::pi;
  static const double lo = NormalCdf(-0.5), hi = NormalCdf(2);
  static const std::vector<Distribution> all = {
      {"uniform",
       [](Array k, int64_t n) { return random::uniform(k, Shape(n), {.minval = -1, .maxval = 3}); },
       1, 16.0 / 12, [](double x) { return (x + 1) / 4; }},
      {"normal", [](Array k, int64_t n) { return random::normal(k, Shape(n)); }, 0, 1, NormalCdf},
      {"normal_f64", [](Array k, int64_t n) { return random::normal(k, Shape(n), {.dtype = f64}); },
       0, 1, NormalCdf},
      {"exponential", [](Array k, int64_t n) { return random::exponential(k, Shape(n)); }, 1, 1,
       [](double x) { return 1 - std::exp(-x); }},
      {"gumbel", [](Array k, int64_t n) { return random::gumbel(k, Shape(n)); }, kEuler, kPi2 / 6,
       [](double x) { return std::exp(-std::exp(-x)); }},
      {"laplace", [](Array k, int64_t n) { return random::laplace(k, Shape(n)); }, 0, 2,
       [](double x) { return x < 0 ? std::exp(x) / 2 : 1 - std::exp(-x) / 2; }},
      {"logistic", [](Array k, int64_t n) { return random::logistic(k, Shape(n)); }, 0, kPi2 / 3,
       [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"cauchy", [](Array k, int64_t n) { return random::cauchy(k, Shape(n)); }, NAN, NAN,
       [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; }},
      {"truncated",
       [](Array k, int64_t n) { return random::truncated_normal(k, -0.5, 2.0, Shape(n)); }, NAN,
       NAN, [](double x) { return (NormalCdf(x) - lo) / (hi - lo); }},
      {"gamma_half", [](Array k, int64_t n) { return random::gamma(k, 0.5, Shape(n)); }, 0.5, 0.5,
       [](double x) { return std::erf(std::sqrt(x)); }},
      {"gamma_2", [](Array k, int64_t n) { return random::gamma(k, 2.0, Shape(n)); }, 2, 2,
       [](double x) { return 1 - std::exp(-x) * (1 + x); }},
      {"loggamma", [](Array k, int64_t n) { return exp(random::loggamma(k, 0.5, Shape(n))); }, 0.5,
       0.5, [](double x) { return std::erf(std::sqrt(x)); }},
      {"beta", [](Array k, int64_t n) { return random::beta(k, 1.0, 3.0, Shape(n)); }, 0.25,
       3.0 / 80, [](double x) { return 1 - std::pow(1 - x, 3); }},
      {"dirichlet",
       [](Array k, int64_t n) {
         return random::dirichlet(k, ones({2}), Shape(n))[{All, 0}];
       },
       0.5, 1.0 / 12, [](double x) { return x; }},
      {"poisson_small",
       [](Array k, int64_t n) { return random::poisson(k, 3.0, Shape(n)); },
       3,
       3,
       {}},
      {"poisson_large",
       [](Array k, int64_t n) { return random::poisson(k, 40.0, Shape(n)); },
       40,
       40,
       {}},
      {"chisquare", [](Array k, int64_t n) { return random::chisquare(k, 2.0, Shape(n)); }, 2, 4,
       [](double x) { return 1 - std::exp(-x / 2); }},
      {"student_of_one", [](Array k, int64_t n) { return random::t(k, 1.0, Shape(n)); }, NAN, NAN,
       [](double x) { return 0.5 + std::atan(x) / std::numbers::pi; }},
      {"student_of_two", [](Array k, int64_t n) { return random::t(k, 2.0, Shape(n)); }, NAN, NAN,
       [](double x) { return 0.5 + x / (2 * std::sqrt(2 + x * x)); }},
      {"weibull", [](Array k, int64_t n) { return random::weibull_min(k, 3.0, 2.0, Shape(n)); },
       1.5 * std::sqrt(std::numbers::pi), 9 * (1 - std::numbers::pi / 4),
       [](double x) { return 1 - std::exp(-x * x / 9); }},
      {"geometric",
       [](Array k, int64_t n) { return random::geometric(k, 0.25, Shape(n)); },
       4,
       12,
       {}},
      {"binomial_small",
       [](Array k, int64_t n) { return random::binomial(k, 6, 0.3, Shape(n)); },
       1.8,
       1.26,
       {}},
      {"binomial_large",
       [](Array k, int64_t n) { return random::binomial(k, 100, 0.7, Shape(n)); },
       70,
       21,
       {}},
      {"ball_of_2",
       [](Array k, int64_t n) { return sum(square(random::ball(k, 2, Shape(n))), -1); }, 0.5,
       1.0 / 12, [](double x) { return x; }},
      {"ball_of_1",
       [](Array k, int64_t n) { return sum(abs(random::ball(k, 3, Shape(n), {.p = 1})), -1); },
       0.75, 3.0 / 80, [](double x) { return x * x * x; }},
      {"orthogonal",  // an element of a matrix on the circle
       [](Array k, int64_t n) {
         return random::orthogonal(k, 2, Shape(n))[{All, 0, 1}];
       },
       0, 0.5, [](double x) { return 1 - std::acos(std::clamp(x, -1.0, 1.0)) / std::numbers::pi; }},
      {"multivariate_normal",
       [](Array k, int64_t n) {
         const Array cov = array({{4., 1.}, {1., 2.}});
         return random::multivariate_normal(k, array({1., -1.}), cov, Shape(n))[{All, 1}];
       },
       -1, 2, [](double x) { return NormalCdf((x + 1) / std::sqrt(2.0)); }},
      {"bernoulli",
       [](Array k, int64_t n) { return random::bernoulli(k, 0.2, Shape(n)); },
       0.2,
       0.16,
       {}},
      {"rademacher", [](Array k, int64_t n) { return random::rademacher(k, Shape(n)); }, 0, 1, {}},
      {"randint",
       [](Array k, int64_t n) { return random::randint(k, Shape(n), 0, 10); },
       4.5,
       8.25,
       {}},
      {"choice",
       [](Array k, int64_t n) {
         return random::choice(k, array({0.0, 1.0}), Shape(n), {.p = array({0.25, 0.75})});
       },
       0.75,
       0.1875,
       {}},
      {"categorical",
       [](Array k, int64_t n) {
         return random::categorical(k, log(array({0.25, 0.75})), -1, {.shape = Shape(n)});
       },
       0.75,
       0.1875,
       {}},
  };
  return all;
}

class Distributed : public ::testing::TestWithParam<Distribution> {};

// Means are within 4.5 standard errors, and the Kolmogorov-Smirnov distance is below the value that
// one sample in a million exceeds. The seeds are fixed.
TEST_P(Distributed, AsItShould) {
  constexpr int64_t kDraws = 20000;
  const Distribution& d = GetParam();
  for (int64_t seed : {0, 12345}) {
    Numbers x = Values(d.draw(random::key(seed), kDraws));
    const double n = static_cast<double>(x.size());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    if (!std::isnan(d.mean)) {
      EXPECT_NEAR(mean, d.mean, 4.5 * std::sqrt(d.variance / n));
      double squares = 0;
      for (double v : x) squares += (v - mean) * (v - mean);
      EXPECT_NEAR(squares / n / d.variance, 1, 0.08);
    }
    if (!d.cdf) continue;
    std::sort(x.begin(), x.end());
    double distance = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double p = d.cdf(x[i]), below = static_cast<double>(i) / n;
      distance = std::max({distance, p - below, below + 1 / n - p});
    }
    EXPECT_LT(distance, 2.7 / std::sqrt(n));
  }
}

INSTANTIATE_TEST_SUITE_P(Random, Distributed, ::testing::ValuesIn(Distributions()),
                         [](const auto& info) { return std::string(info.param.name); });

// Expects each number to be near another one, by its size.
void ExpectNear(const Array& x, const Numbers& wanted, double relative) {
  const Numbers got = x.astype(f64).to_vector<double>();
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], relative * std::abs(wanted[i])) << i;
}

// ---- vectors and matrices -----------------------------------------------------------------------

TEST(RandomVectors, HaveTheirCovariance) {
  const Array mean = array({1., -2., 3.}),
              root = array({{2., 0., 0.}, {1., 1., 0.}, {-1., .5, .3}});
  const Array cov = matmul(root, root.T());
  const Array x = random::multivariate_normal(random::key(3), mean, cov, Shape(40000));
  const Array centred = x - tessera::mean(x, 0);
  EXPECT_LT(max(abs(tessera::mean(x, 0) - mean)).item<float>(), 0.05);
  EXPECT_LT(max(abs(matmul(centred.T(), centred) / 40000 - cov)).item<float>(), 0.1);
  const Array covs = stack({cov, eye(3)}), means = stack({mean, 2 * mean});
  const Array both = random::multivariate_normal(random::key(5), means, covs);
  EXPECT_EQ(both.shape(), (std::vector<int64_t>{2, 3}));
  const Array bad = random::multivariate_normal(random::key(5), mean, stack({cov, -cov}));
  EXPECT_TRUE(all(isfinite(bad[0])).item<bool>());
  EXPECT_TRUE(all(isnan(bad[1])).item<bool>());
}

TEST(RandomVectors, AreDrawnWhereTheirMeanIs) {
  SetDeviceCount(4);
  const Array means = arange(24.).reshape({8, 3}), cov = eye(3) + 0.25f;
  const Array want = random::multivariate_normal(random::key(1), means, cov);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array there = reshard(means, P("x"));
  const auto draw =
      jit([](Array m, Array c) { return random::multivariate_normal(random::key(1), m, c); });
  EXPECT_EQ(type_of(draw(there, cov)).text(), "f32[8@x,3]");
  EXPECT_TRUE(draw.lower(there, cov).comm().empty());
  EXPECT_LT(max(abs(reshard(draw(there, cov), P()) - reshard(want, P()))).item<float>(), 1e-5);
  const Array covs = reshard(stack(std::vector(8, cov)), P("x"));
  EXPECT_LT(max(abs(reshard(draw(there, covs), P()) - reshard(want, P()))).item<float>(), 1e-5);
}

TEST(RandomMatrices, AreOrthogonal) {
  for (const auto& [n, m] : {std::pair(1, 1), {5, 5}, {40, 40}, {7, 3}, {3, 7}, {0, 2}}) {
    const Array q = random::orthogonal(random::key(n), n, {2, 3}, {.m = m});
    EXPECT_EQ(q.shape(), (std::vector<int64_t>{2, 3, n, m}));
    if (n == 0) continue;
    const Array t = swapaxes(q, -1, -2);
    const Array unit = n <= m ? matmul(q, t) : matmul(t, q);
    EXPECT_LT(max(abs(unit - eye(std::min(n, m)))).item<float>(), 3e-6) << n << " " << m;
  }
}

// The results of JAX 0.10 for the same keys, in f64.
TEST(DistributionDerivative, IsThatOfJax) {
  const Array df = array({0.7, 2.5, 8., 40.}, {.dtype = f64}), key = random::key(7);
  const CreateOptions in_f64{.dtype = f64};
  ExpectNear(grad([&](Array x) { return sum(random::chisquare(key, x, {4}, in_f64)); })(df),
             {0.000507597997058, 0.490928301448, 0.815551593087, 0.994844230917}, 1e-8);
  ExpectNear(grad([&](Array x) { return sum(random::t(key, x, {4}, in_f64)); })(df),
             {-0.194528278267, 0.0462872437168, -0.000129703616338, 0.000287843200438}, 1e-8);
  const auto weibull = [&](Array x) {
    return sum(random::weibull_min(key, x, 1 + x, {4}, in_f64));
  };
  ExpectNear(jit(grad(weibull))(df), {1.22375920552, 0.676715609671, 0.97507082175, 0.996400905658},
             1e-8);
  const Array root = array({{2., 0., 0.}, {1., 1., 0.}, {-1., .5, .3}}, {.dtype = f64});
  const auto vectors = [&](Array r) {
    const Array cov = matmul(r, r.T());
    return sum(square(random::multivariate_normal(key, r[0], cov, Shape(2), in_f64)));
  };
  ExpectNear(grad(vectors)(root),
             {17.2615289189, -13.1331867263, -0.9911823371, 10.1027015139, 19.3683351409,
              -1.04378619993, -6.28322656264, 3.97140663923, 4.4704163834},
             1e-8);
  EXPECT_THAT(Values(grad([&](Array p) {
                return sum(random::binomial(key, 20, p)) +
                       sum(random::geometric(key, p).astype(f64));
              })(array({.25, .5}, {.dtype = f64}))),
              ::testing::ElementsAre(0, 0));
}

// The results of JAX 0.10 for the same keys, in f64.
TEST(GammaDerivative, IsThatOfJax) {
  const Array a = array({0.2, 0.7, 1., 2.5, 8., 40.}, {.dtype = f64}), key = random::key(7);
  const CreateOptions in_f64{.dtype = f64};
  const auto gamma = [&](Array x) { return sum(random::gamma(key, x, {6}, in_f64)); };
  const Numbers of_gamma{1.67064003e-07, 0.296896437, 0.527318233,
                         0.978199779,    1.06357375,  1.05209097};
  ExpectNear(grad(gamma)(a), of_gamma, 1e-8);
  ExpectNear(jvp(gamma, std::tuple(a), std::tuple(ones_like(a))).second, {3.918079336}, 1e-8);
  const auto loggamma = [&](Array x) { return sum(random::loggamma(key, x, {6}, in_f64)); };
  ExpectNear(jit(grad(loggamma))(a),
             {99.5842658, 4.33351601, 2.13780257, 0.46554048, 0.122466863, 0.0239434688}, 1e-8);
  const auto beta = [&](Array x) { return sum(random::beta(key, x, x + 1, {6}, in_f64)); };
  ExpectNear(
      grad(beta)(a),
      {0.908235417, 0.0670277174, 0.0742788512, 0.0385588458, -0.00224531456, 0.000815361702},
      1e-8);
  const auto dirichlet = [&](Array x) {
    return sum(random::dirichlet(key, x, Shape{}, in_f64) * arange(6.));
  };
  ExpectNear(
      grad(dirichlet)(a),
      {-1.44095949e-08, -0.0202138572, -0.0263215052, -0.0310556035, -0.0144429411, 0.00482746112},
      1e-8);
  MeshScope scope(make_mesh({{"x", 2}}));
  ExpectNear(grad(gamma)(reshard(a, P("x"))), of_gamma, 1e-8);
}

// The mean of the samples is the parameter, so the mean of their derivatives is 1.
TEST(GammaDerivative, AveragesOneForEveryParameterAndDType) {
  for (DType t : {f16, bf16, f32, f64})
    for (double a : {0.1, 0.9, 1.5, 20.0, 300.0}) {
      const auto gamma = [](Array x) { return sum(random::gamma(random::key(3), x)); };
      const Array slope = grad(gamma)(full({1000}, a, {.dtype = t})).astype(f64);
      EXPECT_NEAR(mean(slope).item<double>(), 1, a < 1 ? 0.3 : 0.1) << t.name() << " " << a;
      EXPECT_TRUE(all(slope >= 0).item<bool>()) << t.name() << " " << a;
    }
}

TEST(Permutations, HaveEveryElementOnce) {
  for (int64_t n : {0, 1, 2, 100, 3000}) {
    std::vector<int64_t> x = random::permutation(random::key(n), n).to_vector<int64_t>();
    std::sort(x.begin(), x.end());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(x[static_cast<size_t>(i)], i);
  }
  const Array keys = random::split(random::key(1), 5);
  EXPECT_EQ(type_of(random::permutation(random::key(2), keys)).text(), "key<fry>[5]");
}

}  // namespace
}  // namespace tessera::random_test

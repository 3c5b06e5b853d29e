// Solvers of linear functions: their progress, its monitor, and indefinite matrices.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tessera/tessera.h"

namespace tessera::krylov_test {
namespace {

constexpr int64_t kSize = 24;

Array Random(Shape shape, int seed) {
  return random::uniform(random::key(seed), shape, {.dtype = f64, .minval = -1, .maxval = 1});
}
Array Definite(int64_t n, int seed) {
  const Array a = Random({n, n}, seed);
  return matmul(a, a.T()) + eye(n, {.dtype = f64});
}
// A symmetric matrix with eigenvalues of both signs.
Array Indefinite(int64_t n, int seed) {
  const Array q = linalg::qr(Random({n, n}, seed)).q;
  const Array w = concatenate(std::vector<Array>{linspace(-4.0, -1.0, n / 2, {.dtype = f64}),
                                                 linspace(1.0, 3.0, n - n / 2, {.dtype = f64})});
  return matmul(q * w, q.T());
}
double Norm(const Array& x) { return std::sqrt(sum(x * x).item<double>()); }

using Options = linalg::KrylovOptions<Array>;
using Result = linalg::KrylovResult<Array>;

// Calls a solver by name, of a matrix.
Result Solve(const std::string& name, const Array& a, const Array& b, const Options& options) {
  if (name == "cg") return linalg::cg(a, b, options);
  if (name == "minres") return linalg::minres(a, b, options);
  if (name == "gmres") return linalg::gmres(a, b, options);
  return linalg::bicgstab(a, b, options);
}

class Solvers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SetDeviceCount(4); }
  void TearDown() override { SetDeviceCount(1); }

  const std::string name_ = GetParam();
  const Array a_ = Definite(kSize, 1), b_ = Random({kSize}, 2);
};

// Stopping after k iterations gives entry k of the history.
TEST_P(Solvers, HistoryHasTheNormAfterEachIteration) {
  const Options long_history{.tol = 1e-9, .restart = 4, .history = 400};
  const Result r = Solve(name_, a_, b_, long_history);
  ASSERT_EQ(r.info.item<int>(), 0);
  const int last = r.iterations.item<int>();
  ASSERT_GT(last, 6);
  ASSERT_LT(last, 399);
  EXPECT_NEAR(r.residual.item<double>(), Norm(b_ - matmul(a_, r.x)), 1e-9);
  EXPECT_NEAR(r.history[last].item<double>(), r.residual.item<double>(), 1e-9);
  EXPECT_TRUE(all(isnan(r.history[{Slice(last + 1, None)}])).item<bool>());
  const int per_turn = name_ == "gmres" ? 4 : 1;
  for (int turns : {0, 1, 2, 3}) {
    Options some = long_history;
    some.maxiter = turns;
    const Result early = Solve(name_, a_, b_, some);
    EXPECT_EQ(early.iterations.item<int>(), turns * per_turn);
    EXPECT_NEAR(Norm(b_ - matmul(a_, early.x)), r.history[turns * per_turn].item<double>(), 1e-9);
  }
}

TEST_P(Solvers, MonitorSeesTheHistory) {
  std::vector<std::pair<int64_t, double>> seen;
  const Options options{.history = 400,
                        .monitor = [&](int64_t k, double norm) { seen.emplace_back(k, norm); }};
  const auto expect_seen = [&](const Result& r) {
    ASSERT_EQ(seen.size(), r.iterations.item<int>() + 1);
    for (size_t k = 0; k < seen.size(); ++k) {
      EXPECT_EQ(seen[k].first, k);
      EXPECT_EQ(seen[k].second, r.history[static_cast<int64_t>(k)].item<double>());
    }
    seen.clear();
  };
  expect_seen(Solve(name_, a_, b_, options));
  expect_seen(jit([&](Array b) { return Solve(name_, a_, b, options); })(b_));
  // A derivative in reverse shows the solution, not the solver of the cotangent.
  const auto [solved, slope] = jit([&](Array b) {
    return value_and_grad([&](Array v) {
      const Result r = Solve(name_, a_, v, options);
      return std::pair(sum(r.x), std::pair(r.iterations, r.history));
    })(b);
  })(b_);
  Result r;
  std::tie(r.iterations, r.history) = solved.second;
  expect_seen(r);
  EXPECT_LT(Norm(slope - linalg::solve(a_, ones({kSize}, {.dtype = f64}))), 1e-3);
}

TEST_P(Solvers, AnExceptionOfTheMonitorEndsThem) {
  const Options options{.monitor = [](int64_t k, double) {
    if (k == 2) throw std::runtime_error("enough");
  }};
  EXPECT_THROW(Solve(name_, a_, b_, options), RuntimeError);
}

TEST_P(Solvers, ProgressOfShardsIsThatOfTheWhole) {
  const Options options{.tol = 1e-9, .restart = 8, .history = 60};
  const Result whole = Solve(name_, a_, b_, options);
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
    MeshScope scope(make_mesh({{"x", 4, mode}}));
    const Array b = jit([](Array v) { return v; }, {.out_shardings = P("x")})(b_);
    // The function keeps the sharding of its vectors.
    int64_t calls = 0;
    Options seen = options;
    seen.monitor = [&](int64_t, double) { ++calls; };
    const auto solve = [&](Array v) {
      const auto f = [&](Array x) {
        return mode == AxisMode::Auto ? matmul(a_, x)
                                      : reshard(matmul(a_, reshard(x, P(None))), P("x"));
      };
      if (name_ == "cg") return linalg::cg(f, v, seen);
      if (name_ == "minres") return linalg::minres(f, v, seen);
      if (name_ == "gmres") return linalg::gmres(f, v, seen);
      return linalg::bicgstab(f, v, seen);
    };
    const Result r = jit(solve)(b);
    EXPECT_EQ(r.info.item<int>(), 0);
    EXPECT_EQ(calls, r.iterations.item<int>() + 1);
    EXPECT_NEAR(r.iterations.item<int>(), whole.iterations.item<int>(), 1);
    EXPECT_LT(Norm(reshard(r.x, P(None)) - whole.x), 1e-8);
    if (mode == AxisMode::Explicit) {
      EXPECT_EQ(type_of(r.x).text(), type_of(b).text());
    }
  }
}

TEST_P(Solvers, AreMappedAndRunInShardMap) {
  const Options options{.tol = 1e-9, .restart = 8, .history = 60};
  const Array both = stack({b_, 2 * b_ + 1, b_ * b_, b_ - 1});
  const Result mapped = vmap([&](Array b) { return Solve(name_, a_, b, options); })(both);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Result manual = jit(shard_map(
      [&](Array b) {
        const Result r = Solve(name_, a_, b.reshape({kSize}), options);
        return Result{expand_dims(r.x, {0}), expand_dims(r.info, {0}),
                      expand_dims(r.iterations, {0}), expand_dims(r.residual, {0}),
                      expand_dims(r.history, {0})};
      },
      {.in_specs = P("x"), .out_specs = P("x")}))(reshard(both, P("x")));
  for (int64_t i = 0; i < 4; ++i) {
    const Result one = Solve(name_, a_, both[i], options);
    EXPECT_NEAR(mapped.iterations[i].item<int>(), one.iterations.item<int>(), 1);
    EXPECT_LT(Norm(mapped.x[i] - one.x), 1e-7);
    const Array x = reshard(manual.x, P(None))[i];
    EXPECT_LT(Norm(x - one.x), 1e-7);
    EXPECT_NEAR(reshard(manual.iterations, P(None))[i].item<int>(), one.iterations.item<int>(), 1);
  }
}

TEST_P(Solvers, OfFloatsHaveHistoriesOfFloats) {
  const Options options{.history = 3};
  const Result r = Solve(name_, a_.astype(f32), b_.astype(f32), options);
  EXPECT_EQ(type_of(r.history).text(), "f32[3]");
  EXPECT_EQ(type_of(Solve(name_, a_, b_, {}).history).text(), "f64[0]");
}

INSTANTIATE_TEST_SUITE_P(All, Solvers, testing::Values("cg", "minres", "gmres", "bicgstab"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Minres, SolvesIndefiniteEquations) {
  const Array a = Indefinite(30, 3), b = Random({30}, 4);
  const auto [x, info] = linalg::minres(a, b, {.tol = 1e-11});
  EXPECT_EQ(info.item<int>(), 0);
  EXPECT_LT(Norm(matmul(a, x) - b), 1e-9);
  // Its residuals never grow.
  const Result r = linalg::minres(a, b, {.tol = 1e-11, .history = 100});
  const Array grown = r.history[{Slice(1, None)}] > r.history[{Slice(0, -1)}] * (1 + 1e-12);
  EXPECT_FALSE(any(grown).item<bool>());
  const Array scale = 1 / (1 + abs(diagonal(a)));
  const auto preconditioned =
      linalg::minres(a, b, {.tol = 1e-11, .preconditioner = [&](Array v) { return scale * v; }});
  EXPECT_LT(Norm(matmul(a, preconditioned.x) - b), 1e-9);
  EXPECT_LT(Norm(linalg::minres(a, b, {.x0 = x, .tol = 1e-9}).x - x), 1e-300);
  const Array zero = zeros({30}, {.dtype = f64});
  EXPECT_EQ(linalg::minres(a, zero).iterations.item<int>(), 0);
}

// As SciPy's minres of the same arrays, with the same number of iterations.
TEST(Minres, EndsAtOnceInAnInvariantSpace) {
  const Array a = diag(array({2.0, -3.0, 2.0, -3.0}, {.dtype = f64}));
  const auto r = linalg::minres(a, array({1.0, 1.0, 2.0, 0.0}, {.dtype = f64}));
  EXPECT_EQ(r.iterations.item<int>(), 2);
  EXPECT_LT(Norm(matmul(a, r.x) - array({1.0, 1.0, 2.0, 0.0}, {.dtype = f64})), 1e-14);
}

TEST(Minres, HasImplicitDerivatives) {
  const Array a = Indefinite(6, 5), b = Random({6}, 6);
  const auto solve = [&](Array m) {
    const Array s = m + m.T();
    return sum(sin(linalg::minres([=](Array v) { return matmul(s, v); }, b, {.tol = 1e-13}).x));
  };
  const auto direct = [&](Array m) { return sum(sin(linalg::solve(m + m.T(), b))); };
  EXPECT_LT(Norm((grad(solve)(a) - grad(direct)(a)).reshape({36})), 1e-8);
  EXPECT_LT(
      std::abs((jvp(solve, a, Random({6, 6}, 7)).second - jvp(direct, a, Random({6, 6}, 7)).second)
                   .item<double>()),
      1e-8);
}

void ExpectPairs(const Array& a, const linalg::Lobpcg& found, double tolerance) {
  const int64_t n = a.shape()[0], k = found.eigenvalues.shape()[0];
  const Array all = flip(linalg::eigvalsh(a)), v = found.eigenvectors;
  EXPECT_LT(Norm(found.eigenvalues - all[{Slice(0, k)}]), tolerance);
  EXPECT_LT(Norm(matmul(a, v) - v * found.eigenvalues), tolerance * static_cast<double>(n));
  EXPECT_LT(Norm(matmul(v.T(), v) - eye(k, {.dtype = v.dtype()})), tolerance);
}

TEST(Lobpcg, FindsTheLargestEigenvalues) {
  const Array a = Indefinite(40, 8), x = Random({40, 3}, 9);
  ExpectPairs(a, linalg::lobpcg_standard(a, x), 1e-9);
  ExpectPairs(-5 * eye(40, {.dtype = f64}) + 0.1 * a,
              linalg::lobpcg_standard(-5 * eye(40, {.dtype = f64}) + 0.1 * a, x), 1e-9);
  const auto of_function = [&](Array v) { return matmul(a, v); };
  const auto [w, v, steps] = jit([&](Array start) {
    const auto r = linalg::lobpcg_standard(of_function, start);
    return std::tuple(r.eigenvalues, r.eigenvectors, r.iterations);
  })(x);
  ExpectPairs(a, {w, v, steps}, 1e-9);
  EXPECT_EQ(linalg::lobpcg_standard(a, x, {.maxiter = 2}).iterations.item<int>(), 2);
  const auto loose = linalg::lobpcg_standard(a, x, {.tol = 1e-6});
  EXPECT_LT(loose.iterations.item<int>(), linalg::lobpcg_standard(a, x).iterations.item<int>());
  // The start has the eigenvectors, or spans a space that a maps to itself.
  const Array exact = flip(linalg::eigh(a).eigenvectors, {1})[{All, Slice(0, 3)}];
  ExpectPairs(a, linalg::lobpcg_standard(a, exact), 1e-9);
  ExpectPairs(eye(40, {.dtype = f64}), linalg::lobpcg_standard(eye(40, {.dtype = f64}), x), 1e-9);
  const auto narrow = linalg::lobpcg_standard(a.astype(f32), x.astype(f32));
  EXPECT_LT(Norm(narrow.eigenvalues - flip(linalg::eigvalsh(a))[{Slice(0, 3)}]), 1e-4);
}

TEST(Lobpcg, RowsMayBeSharded) {
  SetDeviceCount(4);
  const Array a = Indefinite(40, 8), x = Random({40, 3}, 9);
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
    MeshScope scope(make_mesh({{"x", 4, mode}}));
    const auto put = [](const Array& v, PartitionSpec spec) {
      return jit([](Array w) { return w; }, {.out_shardings = spec})(v);
    };
    const Array rows = put(a, P("x", None)), start = put(x, P("x", None));
    const auto product = [&](Array v) {
      return mode == AxisMode::Auto ? matmul(rows, v) : matmul(rows, reshard(v, P(None, None)));
    };
    const auto r = linalg::lobpcg_standard(product, start);
    EXPECT_EQ(type_of(r.eigenvalues).text(), "f64[3]");
    ExpectPairs(
        a, {reshard(r.eigenvalues, P(None)), reshard(r.eigenvectors, P(None, None)), r.iterations},
        1e-9);
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::krylov_test

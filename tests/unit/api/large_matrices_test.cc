// Derivatives, sizes and memory of the functions of one large matrix, and batches that are sharded.
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <algorithm>

namespace tessera::large_matrices_test {
namespace {

Array T(const Array& x) { return linalg::matrix_transpose(x); }
Array Random(Shape shape, int seed, DType dtype = f64) {
  return random::uniform(random::key(seed), shape, {.dtype = dtype, .minval = -1, .maxval = 1});
}
Array Definite(int64_t n, int seed, DType dtype = f64) {
  const Array a = Random({n, n}, seed, dtype);
  return matmul(a, T(a)) + eye(n, {.dtype = dtype});
}
// A regular matrix.
Array Regular(int64_t n, int seed) { return Random({n, n}, seed) + 3 * eye(n, {.dtype = f64}); }

double Most(const Array& x) { return max(abs(x)).item<double>(); }
void ExpectClose(const Array& got, const Array& want, double tolerance = 1e-10) {
  ASSERT_EQ(type_of(got).shape(), type_of(want).shape());
  EXPECT_LT(Most(got - want), tolerance);
}

// Derivatives of the block by block functions are those of the functions of whole matrices, for
// sizes that the devices divide and for others.
class LargeGradients : public testing::TestWithParam<std::tuple<int, int64_t>> {
 protected:
  LargeGradients() { SetDeviceCount(8); }
  ~LargeGradients() override { SetDeviceCount(1); }
};

TEST_P(LargeGradients, AreThoseOfWholeMatrices) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  const auto [layout, n] = GetParam();
  const PartitionSpec specs[] = {P("x", None), P(None, "y"), P("x", "y")};
  const PartitionSpec spec = specs[layout];
  const Array d = Definite(n, 50), a = Regular(n, 51), b = Random({n, 3}, 52);
  const Array weights = Random({n, n}, 53), weights_b = Random({n, 3}, 54);
  const auto check = [&](const char* name, auto of, const Array& x) {
    SCOPED_TRACE(name);
    const auto value = [&](std::optional<PartitionSpec> out) {
      return [&of, out](Array y) { return of(y, out); };
    };
    const Array sharded = reshard(x, spec);
    const Array got = jit(grad(value(spec)))(sharded);
    EXPECT_EQ(type_of(got).text(), type_of(sharded).text());
    ExpectClose(reshard(got, P()), grad(value({}))(x), 1e-8);
    const Array direction = Random({n, n}, 55);
    const auto moved = jvp(value(spec), std::tuple(sharded), std::tuple(reshard(direction, spec)));
    ExpectClose(moved.second, jvp(value({}), std::tuple(x), std::tuple(direction)).second, 1e-8);
  };
  using Out = std::optional<PartitionSpec>;
  const auto whole = [](const Array& x, const Out& out) { return out ? reshard(x, P()) : x; };
  check(
      "cholesky",
      [&](Array x, const Out& out) {
        return sum(whole(linalg::cholesky(x, {.out_sharding = out}), out) * weights);
      },
      d);
  check(
      "lu",
      [&](Array x, const Out& out) {
        return sum(whole(linalg::lu(x, {.out_sharding = out}).lu, out) * weights);
      },
      a);
  check(
      "solve",
      [&](Array x, const Out& out) {
        const Out right = out ? Out(P()) : out;
        return sum(linalg::solve(x, b, {.out_sharding = right}) * weights_b);
      },
      a);
  check(
      "qr",
      [&](Array x, const Out& out) {
        const linalg::Qr made = linalg::qr(x, {.out_sharding = out});
        // Signs of columns of q are free.
        return sum(square(matmul(T(whole(made.q, out)), weights))) +
               sum(square(whole(made.r, out)) * T(weights));
      },
      a);
  for (const bool transpose : {false, true})
    check(
        "triangular_solve",
        [&](Array x, const Out& out) {
          const Out right = out ? Out(P()) : out;
          return sum(linalg::triangular_solve(x, b,
                                              {.left_side = true,
                                               .lower = true,
                                               .transpose_a = transpose,
                                               .out_sharding = right}) *
                     weights_b);
        },
        a);
}

INSTANTIATE_TEST_SUITE_P(Layouts, LargeGradients,
                         testing::Combine(testing::Range(0, 3), testing::Values(4, 12, 16, 20)));

// A tall or wide matrix of any size.
TEST(LargeMatrix, MayHaveAnySizes) {
  SetDeviceCount(8);
  {
    MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{20, 12}, {12, 20}, {30, 4}, {2, 20}}) {
      const Array a = Random({m, n}, 56), sharded = reshard(a, P("x", "y"));
      const auto options = [](const PartitionSpec& spec) {
        return linalg::QrOptions{.out_sharding = spec};
      };
      const linalg::Qr qr = linalg::qr(sharded, options(P()));
      const Array q = qr.q, r = reshard(qr.r, P());
      ExpectClose(matmul(q, r), a);
      ExpectClose(matmul(T(q), q), eye(std::min(m, n), {.dtype = f64}));
      const linalg::Lu lu = linalg::lu(sharded, {.out_sharding = P()}), plain = linalg::lu(a);
      ExpectClose(lu.lu, plain.lu);
      EXPECT_TRUE(all(lu.permutation == plain.permutation).item<bool>());
      EXPECT_TRUE(all(lu.pivots == plain.pivots).item<bool>());
      if (std::min(m, n) < 4) continue;
      const Array weights = Random({m, n}, 57);
      const auto loss = [&](Array x, std::optional<PartitionSpec> out) {
        return sum(linalg::lu(x, {.out_sharding = out}).lu * weights) +
               sum(square(matmul(T(linalg::qr(x, {.out_sharding = out}).q), weights)));
      };
      ExpectClose(reshard(grad([&](Array x) { return loss(x, P()); })(sharded), P()),
                  grad([&](Array x) { return loss(x, {}); })(a), 1e-8);
    }
  }
  SetDeviceCount(1);
}

// n = 1, and one less and one more than multiples of the devices, whatever divides the sharded dim.
TEST(LargeMatrix, SquareOnesMayHaveAnySize) {
  SetDeviceCount(8);
  for (const auto& [x, y] : {std::pair<int, int>{2, 4}, {2, 3}, {1, 3}, {5, 1}}) {
    MeshScope scope(make_mesh({{"x", x}, {"y", y}}));
    for (int64_t n = 1; n <= 2 * x * y + 1; ++n)
      for (const PartitionSpec& spec : {P("x", None), P(None, "y"), P("x", "y"), P("y", "x")}) {
        const auto divides = [&](size_t d) {
          const std::string text =
              spec.dims()[d].axes().empty() ? "" : spec.dims()[d].axes()[0].name;
          return n % (text == "x" ? x : text == "y" ? y : 1) == 0;
        };
        if (!divides(0) || !divides(1)) continue;
        SCOPED_TRACE(spec.text() + " of " + std::to_string(n));
        const Array a = Random({n, n}, 60) + 3 * eye(n, {.dtype = f64}), b = Random({n, 2}, 61);
        const Array d = matmul(a, T(a)), large = reshard(a, spec);
        const auto whole = [](const Array& v) { return reshard(v, P()); };
        ExpectClose(whole(linalg::cholesky(reshard(d, spec), {.out_sharding = spec})),
                    linalg::cholesky(d), 1e-9);
        ExpectClose(whole(linalg::lu(large, {.out_sharding = spec}).lu), linalg::lu(a).lu, 1e-9);
        ExpectClose(linalg::solve(large, b, {.out_sharding = P()}), linalg::solve(a, b), 1e-9);
        ExpectClose(linalg::solve_triangular(large, b, {.out_sharding = P()}),
                    linalg::solve_triangular(a, b), 1e-9);
        const linalg::Qr qr = linalg::qr(large, {.out_sharding = spec});
        ExpectClose(matmul(whole(qr.q), whole(qr.r)), a, 1e-9);
      }
  }
  SetDeviceCount(1);
}

// The rows of a device, of padding or of the user, may be dependent: the implicit derivative is
// the one of the whole matrix.
TEST(LargeMatrix, SlopesOfTallOnesOfUnevenRows) {
  SetDeviceCount(4);
  {
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
    for (DType t : {f64, c128})
      for (const auto& [m, n] : {std::pair<int64_t, int64_t>{10, 2}, {9, 2}, {14, 3}, {17, 4}}) {
        const Array a = random::normal(random::key(m), {m, n}, {.dtype = t}),
                    c = random::normal(random::key(60), {m, n}, {.dtype = t}),
                    d = random::normal(random::key(61), {n, n}, {.dtype = t});
        const PartitionSpec layout = P(m % 2 == 0 ? DimSharding("x") : DimSharding(None),
                                       n % 2 == 0 ? DimSharding("y") : DimSharding(None));
        if (m % 2 != 0 && n % 2 != 0) continue;
        const auto loss = [&](Array x, std::optional<PartitionSpec> out) {
          const linalg::Qr made = linalg::qr(x, {.out_sharding = out});
          // The signs of columns of q and rows of r are those of the method.
          return sum(square(sum(real(made.q * c), 0))) + sum(square(sum(real(made.r * d), 1)));
        };
        for (const Array& x : {a, where(iota({m, n}, 0) < 3, ones_like(a), a)}) {
          const Array whole = grad([&](Array v) { return loss(v, {}); })(x);
          const Array by_rows =
              grad([&](Array v) { return loss(v, P(None, None)); })(reshard(x, layout));
          ExpectClose(reshard(by_rows, P()), whole, 1e-10);
        }
      }
  }
  SetDeviceCount(1);
}

// A backward pass keeps the factors, not the steps.
TEST(LargeMatrix, GradientsNeedTheMemoryOfFactors) {
  MeshScope scope(abstract_mesh({{"x", 8}, {"y", 8}}));
  const Array a = abstract_array("f32[4096@x,4096@y]"), b = abstract_array("f32[4096@x,1]");
  const PartitionSpec spec = P("x", "y");
  const auto check = [&](const char* name, auto f, const auto&... xs) {
    SCOPED_TRACE(name);
    const auto forward = static_cast<double>(jit(f).lower(xs...).peak_bytes());
    const auto both = static_cast<double>(jit(grad(f)).lower(xs...).peak_bytes());
    EXPECT_LT(forward, 4096. * 4096 * 4 / 64 * 16);
    EXPECT_LT(both, 4096. * 4096 * 4 / 64 * 16);
  };
  check(
      "solve",
      [](Array m, Array right) { return sum(linalg::solve(m, right, {.out_sharding = P()})); }, a,
      b);
  check(
      "triangular_solve",
      [](Array m, Array right) {
        return sum(linalg::triangular_solve(m, right, {.left_side = true, .out_sharding = P()}));
      },
      a, b);
  check(
      "lu", [=](Array m) { return sum(square(linalg::lu(m, {.out_sharding = spec}).lu)); }, a);
  check(
      "qr", [=](Array m) { return sum(square(linalg::qr(m, {.out_sharding = spec}).q)); }, a);
  check(
      "cholesky", [=](Array m) { return sum(square(linalg::cholesky(m, {.out_sharding = spec}))); },
      a);
}

TEST(Linalg, BatchesMayBeShardedInOneOperand) {
  SetDeviceCount(2);
  {
    MeshScope scope(make_mesh({{"x", 2}}));
    const Array a = Random({4, 3, 3}, 58) + 3 * eye(3, {.dtype = f64}), b = Random({3, 2}, 59);
    const Array sa = reshard(a, P("x")), many = Random({4, 3, 2}, 60), sb = reshard(many, P("x"));
    const auto check = [](const Array& sharded, const Array& plain) {
      EXPECT_EQ(type_of(sharded).text().substr(0, 8), "f64[4@x,");
      ExpectClose(reshard(sharded, P()), plain);
    };
    check(linalg::solve(sa, b), linalg::solve(a, b));
    check(linalg::solve(sa, many), linalg::solve(a, many));
    check(linalg::solve(a, sb), linalg::solve(a, many));
    check(linalg::solve(a[0], sb), linalg::solve(a[0], many));
    check(linalg::solve_triangular(sa, many), linalg::solve_triangular(a, many));
    check(linalg::lu_solve(linalg::lu_factor(sa), many), linalg::solve(a, many));
    check(linalg::cho_solve(linalg::cho_factor(matmul(T(sa), sa)), many),
          linalg::cho_solve(linalg::cho_factor(matmul(T(a), a)), many));
    const auto loss = [](Array x, Array y) { return sum(square(linalg::solve(x, y))); };
    ExpectClose(reshard(grad(loss)(sa, many), P()), grad(loss)(a, many));
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::large_matrices_test

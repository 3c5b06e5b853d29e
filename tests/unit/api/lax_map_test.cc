// lax_map: the slices one after another, in batches, sharded and in every transform.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::lax_map_test {
namespace {

using testing::ElementsAre;
using Values = std::vector<float>;

Array Row(Array x) { return x * sum(x) + 1; }
Array Rows(int64_t n) { return sin(arange(static_cast<double>(4 * n))).reshape({n, 4}); }

TEST(LaxMap, IsTheFunctionOfEverySlice) {
  for (int64_t n : {1, 2, 5, 7}) {
    const Array xs = Rows(n);
    Values want;
    for (int64_t i = 0; i < n; ++i)
      for (float v : Row(xs[i]).to_vector<float>()) want.push_back(v);
    EXPECT_EQ(lax_map(Row, xs).to_vector<float>(), want);
    EXPECT_EQ(jit([](Array x) { return lax_map(Row, x); })(xs).to_vector<float>(), want);
    for (int64_t batch : {1, 2, 3, 7, 100}) {
      const Array got = lax_map(Row, xs, {.batch_size = batch});
      EXPECT_EQ(got.shape(), xs.shape());
      EXPECT_LT(max(abs(got - lax_map(Row, xs))).item<float>(), 1e-6) << n << " " << batch;
    }
  }
  EXPECT_EQ(lax_map(Row, zeros({0, 4})).shape(), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(lax_map(Row, zeros({0, 4}), {.batch_size = 2}).shape(), (std::vector<int64_t>{0, 4}));
}

TEST(LaxMap, TakesAndReturnsTrees) {
  const auto f = [](std::pair<Array, Array> p) {
    return std::tuple(p.first + p.second, std::vector<Array>{sum(p.first)}, 3);
  };
  const std::pair xs(Rows(3), arange(3.));
  for (std::optional<int64_t> batch : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const auto [sums, totals, n] = lax_map(f, xs, {.batch_size = batch});
    EXPECT_LT(max(abs(sums - (xs.first + expand_dims(xs.second, 1)))).item<float>(), 1e-6);
    EXPECT_LT(max(abs(totals[0] - sum(xs.first, 1))).item<float>(), 1e-6);
    EXPECT_EQ(n, 3);
  }
}

TEST(LaxMap, HasDerivativesAndIsMapped) {
  const Array xs = Rows(5);
  const auto direct = [](Array x) { return sum(sin(vmap(Row)(x))); };
  for (std::optional<int64_t> batch : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    const auto mapped = [batch](Array x) {
      return sum(sin(lax_map(Row, x, {.batch_size = batch})));
    };
    EXPECT_LT(max(abs(grad(mapped)(xs) - grad(direct)(xs))).item<float>(), 1e-5);
    const auto second = [](auto f) { return [f](Array x) { return sum(grad(f)(x) * cos(x)); }; };
    EXPECT_LT(max(abs(grad(second(mapped))(xs) - grad(second(direct))(xs))).item<float>(), 1e-4);
    check_grads(mapped, std::tuple(xs.astype(f64)));
    const Array batches = stack({xs, 2 * xs, 3 * xs});
    const auto one = [batch](Array x) { return lax_map(Row, x, {.batch_size = batch}); };
    EXPECT_LT(max(abs(vmap(one)(batches) - vmap(vmap(Row))(batches))).item<float>(), 1e-5);
  }
}

TEST(LaxMap, KeepsTheShardingOfSlices) {
  SetDeviceCount(8);
  const Array whole = Rows(6);
  const Array want = lax_map(Row, whole);
  for (const auto& [x, y] : {std::pair(2, 1), {2, 2}, {4, 2}}) {
    MeshScope scope(make_mesh({{"x", x}, {"y", y}}));
    const Array xs = reshard(whole, P(None, "x"));
    for (std::optional<int64_t> batch : {std::optional<int64_t>(), std::optional<int64_t>(4)}) {
      const auto f = [batch](Array v) { return lax_map(Row, v, {.batch_size = batch}); };
      const Array got = jit(f)(xs);
      EXPECT_EQ(type_of(got), type_of(xs));
      const Array there = reshard(got, P());
      EXPECT_LT(max(abs(there - reshard(want, P()))).item<float>(), 1e-5);
      EXPECT_EQ(type_of(f(xs)), type_of(xs));
    }
  }
  {
    MeshScope scope(make_mesh({{"x", 2, AxisMode::Auto}}));
    const auto f = jit([](Array v) {
      return lax_map(Row, with_sharding_constraint(v, P(None, "x")), {.batch_size = 4});
    });
    EXPECT_LT(max(abs(f(whole) - want)).item<float>(), 1e-5);
  }
  SetDeviceCount(1);
}

// One slice after another: the program has a loop, and vmap of all has none.
TEST(LaxMap, IsALoop) {
  const auto text = [](auto f) { return jit(f).trace(Rows(6)).text(); };
  EXPECT_THAT(text([](Array x) { return lax_map(Row, x); }), testing::HasSubstr("scan"));
  EXPECT_THAT(text([](Array x) { return lax_map(Row, x, {.batch_size = 2}); }),
              testing::HasSubstr("scan"));
  EXPECT_THAT(text([](Array x) { return lax_map(Row, x, {.batch_size = 7}); }),
              testing::Not(testing::HasSubstr("scan")));
}

}  // namespace
}  // namespace tessera::lax_map_test

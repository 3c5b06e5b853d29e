// associative_scan against a loop: all sizes, dims, layouts, and transforms.
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace tessera::associative_test {
namespace {

using Affine = std::pair<Array, Array>;  // x -> m x + b: [..., 2, 2] and [..., 2]

// Returns the functions `second` after `first`: it is associative, and not commutative.
Affine Then(Affine first, Affine second) {
  const auto apply = [](Array m, Array x) { return squeeze(matmul(m, expand_dims(x, -1)), -1); };
  return {matmul(second.first, first.first), apply(second.first, first.second) + second.second};
}

Affine Functions(int64_t n) {
  return {random::uniform(random::key(1), {n, 2, 2}, {.minval = -1, .maxval = 1}),
          random::uniform(random::key(2), {n, 2})};
}

// Returns the running results by a loop.
Affine Looped(const Affine& xs, bool reverse) {
  const int64_t n = xs.first.shape()[0];
  std::vector<Array> first(static_cast<size_t>(n)), second(static_cast<size_t>(n));
  Affine all;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = reverse ? n - 1 - k : k;
    const Affine one{xs.first.at(i).get(), xs.second.at(i).get()};
    all = k == 0 ? one : Then(all, one);
    first[static_cast<size_t>(i)] = all.first;
    second[static_cast<size_t>(i)] = all.second;
  }
  return {stack(first), stack(second)};
}

double Apart(const Array& a, const Array& b) {
  const auto x = gather_to_host(a).to_vector<float>(), y = gather_to_host(b).to_vector<float>();
  double apart = x.size() == y.size() ? 0 : INFINITY;
  for (size_t i = 0; i < x.size(); ++i) apart = std::max(apart, std::abs(double{x[i]} - y[i]));
  return apart;
}
void ExpectNear(const Affine& got, const Affine& want, const char* what) {
  EXPECT_LT(Apart(got.first, want.first), 2e-6) << what;
  EXPECT_LT(Apart(got.second, want.second), 1e-5) << what;
}

TEST(AssociativeScan, EqualsALoop) {
  for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 13, 16, 31})
    for (bool reverse : {false, true}) {
      const Affine xs = Functions(n), want = Looped(xs, reverse);
      ExpectNear(associative_scan(Then, xs, {.reverse = reverse}), want, "eager");
      const auto f = jit([&](Array m, Array b) {
        return associative_scan(Then, Affine(m, b), {.reverse = reverse});
      });
      ExpectNear(f(xs.first, xs.second), want, "jit");
    }
}

TEST(AssociativeScan, OfNoElementsIsEmpty) {
  const Array x = associative_scan([](Array a, Array b) { return a + b; }, zeros({0, 3}));
  EXPECT_EQ(x.shape(), (std::vector<int64_t>{0, 3}));
}

TEST(AssociativeScan, RunsAlongAnyDim) {
  const Array x = random::normal(random::key(0), {3, 8, 2});
  const auto add = [](Array a, Array b) { return a + b; };
  EXPECT_LT(Apart(associative_scan(add, x, {.dim = -2}), cumsum(x, 1)), 1e-5);
  EXPECT_LT(
      Apart(associative_scan(add, x, {.dim = 2, .reverse = true}), cumsum(x, 2, {.reverse = true})),
      1e-5);
}

class OnFourDevices : public testing::TestWithParam<AxisMode> {
 protected:
  const bool is_auto_ = GetParam() == AxisMode::Auto;
  const MeshScope scope_{make_mesh({{"x", 4}}, {.mode = GetParam()})};
  const PartitionSpec spec_ = P("x");

  auto ScanOf(bool reverse) const {
    const Specs out = is_auto_ ? Specs{} : Specs{spec_};
    return [=](Array m, Array b) {
      return associative_scan(Then, Affine(m, b), {.reverse = reverse, .out_sharding = out});
    };
  }
  template <class F>
  auto Jit(F f) const {
    return is_auto_ ? jit(f, {.in_shardings = spec_}) : jit(f);
  }
  Affine Placed(const Affine& xs) const {
    return is_auto_ ? xs : Affine(reshard(xs.first, spec_), reshard(xs.second, spec_));
  }
};

TEST_P(OnFourDevices, EqualsALoop) {
  for (int64_t n : {4, 8, 12, 64})
    for (bool reverse : {false, true}) {
      const Affine xs = Functions(n), placed = Placed(xs);
      const auto f = Jit(ScanOf(reverse));
      ExpectNear(f(placed.first, placed.second), Looped(xs, reverse), "sharded");
    }
}

TEST_P(OnFourDevices, HasTheGradientsOfALoop) {
  const Affine xs = Functions(8), placed = Placed(xs);
  const auto total = [](const Affine& y) { return sum(y.first) + sum(y.second * y.second); };
  for (bool reverse : {false, true}) {
    const auto scanned = ScanOf(reverse);
    const auto got = Jit(grad([&](Array m, Array b) { return total(scanned(m, b)); }));
    const auto want = grad([&](Array m, Array b) { return total(Looped(Affine(m, b), reverse)); });
    EXPECT_LT(Apart(got(placed.first, placed.second), want(xs.first, xs.second)), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, OnFourDevices, testing::Values(AxisMode::Explicit, AxisMode::Auto),
                         [](const auto& info) {
                           return info.param == AxisMode::Auto ? "Auto" : "Explicit";
                         });

// A device needs one element of every other shard: [3, 2, 2] and [3, 2] floats.
TEST(AssociativeScan, ExchangesOneElementPerShard) {
  const MeshScope scope(abstract_mesh({{"x", 4}}));
  const auto f = jit([](Array m, Array b) {
    return associative_scan(Then, Affine(m, b), {.out_sharding = P("x")});
  });
  const Lowered lowered =
      f.lower(abstract_array("f32[4096@x,2,2]"), abstract_array("f32[4096@x,2]"));
  EXPECT_EQ(lowered.comm().bytes(), 3 * (2 * 2 + 2) * 4) << lowered.comm();
}

// Also if the shards do not divide the dim: the elements that are left over are scanned apart.
TEST(AssociativeScan, SendsLittleOverAutoAxes) {
  const MeshScope scope(make_mesh({{"x", 4, Auto}}));
  for (int64_t n : {1024, 1002, 9})
    for (bool reverse : {false, true}) {
      const Array x = random::normal(random::key(n), {n});
      const auto f = jit([=](Array a) {
        const auto largest = [](Array p, Array q) { return maximum(p, q); };
        a = with_sharding_constraint(a, P("x"));
        return with_sharding_constraint(associative_scan(largest, a, {.reverse = reverse}), P("x"));
      });
      const CommReport comm = f.lower(x).comm();
      EXPECT_LE(comm.events().size(), n % 4 == 0 ? 1u : 8u) << n << "\n" << comm;
      EXPECT_TRUE(array_equal(f(x), cummax(x, 0, {.reverse = reverse})).item<bool>()) << n;
    }
}

TEST(AssociativeScan, IsMapped) {
  const Array x = random::normal(random::key(0), {5, 8});
  const auto f = [](Array a) {
    return associative_scan([](Array p, Array q) { return maximum(p, q); }, a);
  };
  EXPECT_TRUE(array_equal(vmap(f)(x), cummax(x, 1)).item<bool>());
}

}  // namespace
}  // namespace tessera::associative_test

// Sorting and quantiles along sharded dims: values, types and bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tessera/tessera.h"

namespace tessera::sort_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Numbers with many equal ones.
std::vector<int> SomeNumbers(int64_t n, int seed, int most) {
  return random::randint(random::key(seed), {n}, 0, most).to_vector<int>();
}

class SortShards : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { SetDeviceCount(GetParam()); }
  Mesh OfAll(AxisMode mode = AxisMode::Explicit) const {
    return make_mesh({{"x", GetParam(), mode}});
  }
};

TEST_P(SortShards, OneArray) {
  for (int64_t n : {8, 1024, 4096}) {
    std::vector<int> values = SomeNumbers(n, 1, 1000), want = values;
    std::ranges::sort(want);
    MeshScope scope(OfAll());
    const Array x = reshard(array(values), P("x"));
    const Array up = sort(x, 0, {.out_sharding = P("x")});
    EXPECT_EQ(type_of(up).text(), type_of(x).text());
    EXPECT_EQ(up.to_vector<int>(), want);
    std::ranges::reverse(want);
    EXPECT_EQ(sort(x, 0, {.descending = true, .out_sharding = P("x")}).to_vector<int>(), want);
  }
}

TEST_P(SortShards, EqualElementsKeepTheirOrder) {
  const std::vector<int> keys = SomeNumbers(2048, 2, 7);
  for (bool descending : {false, true}) {
    std::vector<int> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, [&](int a, int b) { return descending ? keys[a] > keys[b] : keys[a] < keys[b]; });
    MeshScope scope(OfAll());
    const Array x = reshard(array(keys), P("x"));
    const Array index = argsort(x, 0, {.descending = descending, .out_sharding = P("x")});
    EXPECT_EQ(index.to_vector<int>(), order);
    const auto sorted = sort({x, reshard(arange(2048), P("x"))}, 0,
                             {.descending = descending, .out_sharding = P("x")});
    EXPECT_EQ(sorted[1].to_vector<int>(), order);
  }
}

TEST_P(SortShards, SpecialNumbers) {
  std::vector<float> values(1024, 1);
  for (size_t i = 0; i < values.size(); i += 5) values[i] = i % 2 == 0 ? kNan : -kInf;
  for (size_t i = 1; i < values.size(); i += 5) values[i] = kInf;
  std::vector<float> want = values;
  std::ranges::sort(want, [](float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  MeshScope scope(OfAll());
  const auto got =
      sort(reshard(array(values), P("x")), 0, {.out_sharding = P("x")}).to_vector<float>();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i;
}

// In Auto nothing has to be said, and sizes need not divide.
TEST_P(SortShards, UnderAuto) {
  for (int64_t n : {1000, 4096}) {
    std::vector<int> values = SomeNumbers(3 * n, 3, 500), want = values;
    for (int row = 0; row < 3; ++row)
      std::sort(want.begin() + row * n, want.begin() + (row + 1) * n);
    MeshScope scope(OfAll(AxisMode::Auto));
    const auto f =
        jit([](Array v) { return sort(with_sharding_constraint(v * 1, P(None, "x")), 1); });
    EXPECT_EQ(f(array(values).reshape({3, n})).to_vector<int>(), want);
  }
}

TEST_P(SortShards, Quantiles) {
  const Array x = random::normal(random::key(4), {4096});
  const double middle = median(x).item<double>();
  const auto thirds = quantile(x, array({0.25, 0.75})).to_vector<float>();
  MeshScope scope(OfAll());
  const Array sharded = reshard(x, P("x"));
  EXPECT_EQ(median(sharded, 0, {.out_sharding = P()}).item<double>(), middle);
  EXPECT_EQ(quantile(sharded, array({0.25, 0.75}), 0, {.out_sharding = P()}).to_vector<float>(),
            thirds);
}

INSTANTIATE_TEST_SUITE_P(OnDevices, SortShards, testing::Values(1, 2, 4, 8));

// Each device sends (k - 1) / k of a shard twice, and half a shard to each neighbour. Floats have
// positions beside them: 0 and -0 are equal.
TEST(Sort, BytesOfAShardedDim) {
  MeshScope scope(abstract_mesh({{"x", 8}}));
  const auto f = jit([](Array v) { return sort(v, 0, {.out_sharding = P("x")}); });
  const int64_t shard = 4 * 65536 / 8;
  const CommReport comm = f.lower(abstract_array("i32[65536@x]")).comm();
  EXPECT_EQ(comm.bytes(), 2 * shard * 7 / 8 + shard) << comm;
  EXPECT_EQ(comm.count(CommKind::kAllGather), 0) << comm;
  const CommReport floats = f.lower(abstract_array("f32[65536@x]")).comm();
  EXPECT_EQ(floats.bytes(), 2 * comm.bytes()) << floats;
  // A short dim is gathered: that sends less.
  const CommReport small = f.lower(abstract_array("i32[64@x]")).comm();
  EXPECT_LE(small.bytes(), 4 * 56) << small;
}

// Over four devices a gather sends three shards, and a sort of floats five.
TEST(Sort, SendsNoMoreThanAGather) {
  MeshScope scope(abstract_mesh({{"x", 4}}));
  const auto f = jit([](Array v) { return sort(v, 0, {.out_sharding = P("x")}); });
  const int64_t shard = 4 * 65536 / 4;
  EXPECT_EQ(f.lower(abstract_array("f32[65536@x]")).comm().bytes(), 3 * shard);
  EXPECT_EQ(f.lower(abstract_array("i32[65536@x]")).comm().bytes(), 2 * shard * 3 / 4 + shard);
}

// Each device sends the 3 largest of its shard, and their indices, to all others.
TEST(Sort, LargestOfAShardedDim) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = sin(arange(4096, {.dtype = f32}));
  const auto f = jit([](Array v) {
    const auto [values, indices] = top_k(v, 3, {.out_sharding = P(None)});
    return std::pair(values, indices);
  });
  const auto [values, indices] = f(reshard(x, P("x")));
  const auto [all, at] = top_k(reshard(x, P(None)), 3);
  EXPECT_EQ(values.to_vector<float>(), all.to_vector<float>());
  EXPECT_EQ(indices.to_vector<int32_t>(), at.to_vector<int32_t>());
  EXPECT_EQ(f.lower(abstract_array("f32[4096@x]")).comm().bytes(), 3 * 3 * (4 + 4));
}

TEST(Sort, QuantilesAreNumPys) {
  const Array x = array({{3.0, 1.0, 2.0}, {9.0, 8.0, 4.0}});
  EXPECT_EQ(quantile(x, 0.5).item<double>(), 3.5);
  EXPECT_EQ(quantile(x, 0.5, 1).to_vector<float>(), (std::vector<float>{2, 8}));
  EXPECT_EQ(percentile(x, array({0, 25, 100}), 1).to_vector<float>(),
            (std::vector<float>{1, 4, 1.5, 6, 3, 9}));
  EXPECT_EQ(type_of(quantile(x, array({0.5}), 0, {.keepdims = true})).text(), "f32[1,1,3]");
  const Array four = array({1.0, 2.0, 4.0, 8.0});
  const auto at = [&](QuantileMethod method) {
    return quantile(four, 0.4, 0, {.method = method}).item<double>();
  };
  EXPECT_EQ(at(QuantileMethod::kLower), 2);
  EXPECT_EQ(at(QuantileMethod::kHigher), 4);
  EXPECT_EQ(at(QuantileMethod::kNearest), 2);
  EXPECT_EQ(at(QuantileMethod::kMidpoint), 3);
  EXPECT_FLOAT_EQ(at(QuantileMethod::kLinear), 2.4F);
  EXPECT_EQ(median(array({4, 1, 3, 2})).item<double>(), 2.5);
  EXPECT_TRUE(std::isnan(median(array({1.0, static_cast<double>(kNan)})).item<double>()));
}

TEST(Sort, QuantilesHaveDerivatives) {
  const Array x = array({3.0, 1.0, 7.0, 5.0}, {.dtype = f64});
  check_grads([](Array v) { return quantile(v, 0.3); }, x);
  check_grads([&](Array q) { return quantile(x, q); }, array(0.3, {.dtype = f64}));
}

}  // namespace
}  // namespace tessera::sort_test

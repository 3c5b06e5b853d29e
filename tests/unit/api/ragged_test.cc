// ragged_dot_general against products that are masked by group, and ragged_all_to_all against
// copies of rows one by one.
#include "tessera/ragged.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <random>

namespace tessera::ragged_test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::vector<double> Values(const Array& x) { return x.astype(f64).to_vector<double>(); }

Array Numbers(std::vector<int64_t> shape, double scale = 1) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return sin(scale * arange(static_cast<double>(n), {.dtype = f64})).reshape(shape);
}

TEST(RaggedDot, MultipliesGroupsByTheirMatrices) {
  const Array x = Numbers({6, 3}), y = Numbers({2, 3, 4}, 0.7);
  const Array z = ragged_dot(x, y, array({2, 3}));
  const Array want =
      concatenate({matmul(x[Slice(0, 2)], y[0]), matmul(x[Slice(2, 5)], y[1]), zeros({1, 4}, f64)});
  EXPECT_TRUE(allclose(z, want).to_vector<bool>()[0]);
}

TEST(RaggedDot, OfShardsHasTheValuesOfTheWhole) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const Array x = Numbers({8, 4}), y = Numbers({4, 4, 6}, 0.7), sizes = array({3, 0, 2, 1});
  const std::vector<double> want = Values(ragged_dot(x, y, sizes));
  struct {
    PartitionSpec x, y;
    std::optional<PartitionSpec> out;
  } const cases[] = {{P("x"), P(None, None, "y"), {}},
                     {P(None, "x"), P(None, "x"), P()},
                     {P(), P("x"), P()},
                     {P("y"), P("x"), P("y")},
                     {P("y", "x"), P(None, "x"), P("y")}};
  for (const auto& c : cases) {
    const Array z = ragged_dot(reshard(x, c.x), reshard(y, c.y), sizes, {.out_sharding = c.out});
    EXPECT_THAT(Values(z), testing::Pointwise(testing::DoubleNear(1e-12), want));
  }
}

// The matrices of experts on several devices get their gradients there: no device needs others.
TEST(RaggedDot, GradientsOfShardedGroups) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array x = Numbers({8, 4}), y = Numbers({4, 4, 6}, 0.7), sizes = array({3, 0, 2, 1});
  const auto loss = [&](Array a, Array b) {
    return sum(square(ragged_dot(a, b, sizes, {.out_sharding = P()})));
  };
  const auto gradients = grad<0, 1>(loss);
  const auto [dx, dy] = gradients(x, y);
  const auto [sx, sy] = gradients(x, reshard(y, P("x")));
  EXPECT_EQ(type_of(sy).text(), "f64[4@x,4,6]");
  EXPECT_THAT(Values(sx), testing::Pointwise(testing::DoubleNear(1e-12), Values(dx)));
  EXPECT_THAT(Values(sy), testing::Pointwise(testing::DoubleNear(1e-12), Values(dy)));
}

// ---- exchanges ----------------------------------------------------------------------------------

// The lists of all devices of a group of k, with s slices for each pair: valid ones.
struct Exchange {
  int64_t k, s, operand_rows, output_rows = 0;
  std::vector<int64_t> first, count, target, expected;  // [k, k * s]

  Exchange(int64_t devices, int64_t share, int64_t rows, uint32_t seed)
      : k(devices), s(share), operand_rows(rows) {
    std::mt19937 random(seed);
    const int64_t slices = k * s;
    first.resize(k * slices), count = target = expected = first;
    std::vector<int64_t> filled(k);  // rows of each output
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = 0; i < slices; ++i) {
        const int64_t at = p * slices + i, to = i / s;
        count[at] = random() % 4;
        first[at] = random() % (rows - count[at] + 1);
        filled[to] += random() % 2;
        target[at] = filled[to];
        filled[to] += count[at];
        expected[to * slices + p * s + i % s] = count[at];
      }
    output_rows = 1 + *std::max_element(filled.begin(), filled.end());
  }
  Array List(const std::vector<int64_t>& v) const { return array(v).reshape({k, k * s}); }
  std::vector<Array> Lists() const {
    return {List(first), List(count), List(target), List(expected)};
  }
  std::vector<double> Want(const std::vector<double>& x, std::vector<double> out,
                           int64_t width) const {
    for (int64_t p = 0; p < k; ++p)
      for (int64_t i = 0; i < k * s; ++i)
        for (int64_t r = 0; r < count[p * k * s + i]; ++r)
          for (int64_t w = 0; w < width; ++w)
            out[((i / s) * output_rows + target[p * k * s + i] + r) * width + w] =
                x[(p * operand_rows + first[p * k * s + i] + r) * width + w];
    return out;
  }
};

Array Exchanged(const Array& x, const Array& out, const std::vector<Array>& lists, AxisSet axes,
                PartitionSpec spec) {
  const auto f = [&](const std::vector<Array>& a) {
    return ragged_all_to_all(a[0][0], a[1][0], a[2][0], a[3][0], a[4][0], a[5][0], axes)[None];
  };
  std::vector<Array> arguments;
  for (const Array& a : {x, out, lists[0], lists[1], lists[2], lists[3]})
    arguments.push_back(reshard(a, spec));
  return shard_map(f, {.out_specs = spec})(arguments);
}

// The example of JAX's documentation.
TEST(RaggedAllToAll, SendsRows) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array y = Exchanged(array({{1, 2, 2}, {3, 4, 0}}), zeros({2, 4}, i32),
                            {array({{0, 1}, {0, 1}}), array({{1, 2}, {1, 1}}),
                             array({{0, 0}, {1, 2}}), array({{1, 1}, {2, 1}})},
                            "x", P("x"));
  EXPECT_THAT(Values(y), ElementsAre(1, 3, 0, 0, 2, 2, 4, 0));
}

TEST(RaggedAllToAll, EqualsCopiesOfRows) {
  SetDeviceCount(4);
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const int64_t devices = seed % 2 ? 4 : 2, share = 1 + seed % 3;
    MeshScope scope(devices == 4 ? make_mesh({{"x", 2}, {"y", 2}}) : make_mesh({{"x", 2}}));
    const AxisSet axes = devices == 4 ? AxisSet({"x", "y"}) : AxisSet("x");
    const PartitionSpec spec = devices == 4 ? P({"x", "y"}) : P("x");
    const Exchange e(devices, share, 7, seed);
    const Array x = Numbers({devices, 7, 3}), out = Numbers({devices, e.output_rows, 3}, 0.3);
    const std::vector<double> want = e.Want(Values(x), Values(out), 3);
    EXPECT_THAT(Values(Exchanged(x, out, e.Lists(), axes, spec)), ElementsAreArray(want));
    const auto compiled =
        jit([&](Array a, Array b) { return Exchanged(a, b, e.Lists(), axes, spec); });
    EXPECT_THAT(Values(compiled(x, out)), ElementsAreArray(want));
  }
}

// The exchange is linear, so its vjp is the adjoint of the values.
TEST(RaggedAllToAll, HasTheAdjointAsGradient) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Exchange e(4, 2, 7, 3);
  const auto f = [&](Array a, Array b) { return Exchanged(a, b, e.Lists(), "x", P("x")); };
  const Array x = Numbers({4, 7, 3}), out = Numbers({4, e.output_rows, 3}, 0.3);
  const Array ct = reshard(Numbers({4, e.output_rows, 3}, 0.9), P("x"));
  const auto [y, pullback] = vjp(f, std::tuple(x, out));
  const auto [dx, dout] = pullback(ct);
  const double forward = Values(sum(y * ct))[0];
  const double backward = Values(sum(dx * x) + sum(dout * out))[0];
  EXPECT_NEAR(forward, backward, 1e-12 * std::abs(forward));
  EXPECT_GT(Values(sum(abs(dx)))[0], 1);
  check_grads(f, std::tuple(x, out));
}

TEST(RaggedAllToAll, IsMapped) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  const Exchange e(2, 1, 7, 5);
  const Array x = Numbers({3, 2, 7}), out = Numbers({3, 2, e.output_rows}, 0.3);
  const auto f = [&](Array a, Array b) { return Exchanged(a, b, e.Lists(), "x", P("x")); };
  const Array y = vmap(f)(x, out);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_THAT(Values(y[i]), ElementsAreArray(Values(f(x[i], out[i]))));
}

TEST(RaggedAllToAll, FindsMistakesWhenItRuns) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  Exchange e(2, 1, 7, 5);
  const auto f = jit([&](Array a, std::vector<Array> lists) {
    return Exchanged(a, zeros({2, e.output_rows}, f64), lists, "x", P("x"));
  });
  const Array x = Numbers({2, 7});
  f(x, e.Lists());
  e.first[3] = 6, e.count[3] = e.expected[3] = 5;
  try {
    f(x, e.Lists()).to_vector<double>();
    FAIL() << "it was accepted";
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("position 1"));
    EXPECT_THAT(error.where(), HasSubstr("ragged_test.cc:"));
  }
  e = Exchange(2, 1, 7, 5);
  f(x, e.Lists()).to_vector<double>();  // a later run is not affected
}

// ---- generators and roundings -------------------------------------------------------------------

TEST(RngBitGenerator, ContinuesItsSequence) {
  for (const RandomAlgorithm algorithm : {RandomAlgorithm::kPhilox, RandomAlgorithm::kThreefry}) {
    const Array state = array(std::vector<uint64_t>{5, 7});
    const BitGeneratorOptions options{.dtype = u64, .algorithm = algorithm};
    const auto all = random::rng_bit_generator(state, {8}, options);
    const auto first = random::rng_bit_generator(state, {4}, options);
    const auto rest = random::rng_bit_generator(first.state, {4}, options);
    EXPECT_EQ(concatenate({first.bits, rest.bits}).to_vector<uint64_t>(),
              all.bits.to_vector<uint64_t>());
    EXPECT_EQ(rest.state.to_vector<uint64_t>(), all.state.to_vector<uint64_t>());
  }
}

TEST(RngBitGenerator, IsShardedAsAsked) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array state = array(std::vector<uint32_t>{1, 2, 3, 4});
  const auto whole = random::rng_bit_generator(state, {6, 4});
  const auto parts = random::rng_bit_generator(state, {6, 4}, {.out_sharding = P("x")});
  EXPECT_EQ(type_of(parts.bits).text(), "u32[6@x,4]");
  EXPECT_EQ(parts.bits.to_vector<uint32_t>(), whole.bits.to_vector<uint32_t>());
}

TEST(ReduceXor, CombinesOverDevices) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = bitwise_xor(arange(24) * 2654435, arange(24)).reshape({8, 3});
  EXPECT_EQ(reduce_xor(reshard(x, P("x")), 0).to_vector<int>(), reduce_xor(x, 0).to_vector<int>());
}

}  // namespace
}  // namespace tessera::ragged_test

// Pools and convolutions on shards: their values, and the bytes that devices exchange.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <complex>
#include <functional>
#include <string>
#include <vector>

namespace tessera::windows_test {
namespace {

Array Numbers(Shape shape, double scale) {
  int64_t n = 1;
  for (int64_t size : shape.dims()) n *= size;
  return reshape(sin(arange(n, {.dtype = f32}) * scale), shape);
}

struct Case {
  std::string name;
  Shape shape;
  PartitionSpec in;
  std::string type;  // of the result
  std::function<Array(Array)> f;
  int64_t bytes;  // that the device which gets most gets
};

// On a mesh of x = 4 and y = 2.
std::vector<Case> Pools() {
  return {
      {"batch",
       {8, 6, 3},
       P("x"),
       "f32[8@x,6,3]",
       [](Array a) { return avg_pool(a, {3}, {.padding = "SAME"}); },
       0},
      {"features",
       {2, 6, 4},
       P(None, None, "y"),
       "f32[2,4,4@y]",
       [](Array a) { return max_pool(a, {3}); },
       0},
      {"windows of a shard",
       {2, 16, 3},
       P(None, "x"),
       "f32[2,8@x,3]",
       [](Array a) { return max_pool(a, {2}, {.strides = {2}}); },
       0},
      {"one neighbour on each side",
       {2, 16, 3},
       P(None, "x"),
       "f32[2,16@x,3]",
       [](Array a) { return min_pool(a, {3}, {.padding = "SAME"}); },
       2 * 2 * 3 * 4},
      {"two dims",
       {8, 4, 5},
       P("x", "y"),
       "f32[8@x,4@y,5]",
       [](Array a) {
         return reduce_window(a, Reduction::kSum, {3, 3, 1},
                              {.padding = {{{1, 1}, {1, 1}, {0, 0}}}});
       },
       // A middle device of x needs 4 rows of 3 of its 2 rows of 2.
       (4 * 3 - 2 * 2) * 5 * 4},
      {"dilated windows",
       {16},
       P("x"),
       "f32[16@x]",
       [](Array a) {
         return reduce_window(a, Reduction::kMax, {2},
                              {.padding = {{{3, 0}}}, .window_dilation = {3}});
       },
       3 * 4},
  };
}

void ExpectCase(const Case& c) {
  SCOPED_TRACE(c.name);
  const Array whole = Numbers(c.shape, 0.7), want = c.f(whole);
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  const Array a = reshard(whole, c.in);
  const auto f = jit(c.f);
  const Array got = f(a);
  EXPECT_EQ(type_of(got).text(), c.type);
  const auto wanted = want.to_vector<float>(), values = got.to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], wanted[i], 1e-5) << i;
  EXPECT_EQ(f.lower(a).comm().bytes(), c.bytes);
}

TEST(Windows, ExchangeTheEdgesOfShards) {
  SetDeviceCount(8);
  for (const Case& c : Pools()) ExpectCase(c);
}

// A convolution of [2, 4, 16] by a kernel of 3.
std::vector<Case> Convolutions() {
  const auto same = [](PartitionSpec kernel, std::optional<PartitionSpec> out) {
    return [=](Array a) {
      Array k = Numbers({4, 4, 3}, 0.3);
      if (!current_mesh().empty()) k = reshard(k, kernel);
      return conv(a, k, {1}, "SAME", {.out_sharding = current_mesh().empty() ? std::nullopt : out});
    };
  };
  return {
      {"batch", {8, 4, 16}, P("x"), "f32[8@x,4,16]", same(P(), {}), 0},
      {"output features", {2, 4, 16}, P(), "f32[2,4@x,16]", same(P("x"), {}), 0},
      {"spatial dims",
       {2, 4, 16},
       P(None, None, "x"),
       "f32[2,4,16@x]",
       same(P(), {}),
       2 * 2 * 4 * 4},
      {"input features that scatter",
       {2, 4, 16},
       P(None, "x"),
       "f32[2,4@x,16]",
       same(P(None, "x"), P(None, "x")),
       // Three of four parts of the result go to other devices.
       3 * 2 * 4 * 16 * 4 / 4},
  };
}

TEST(Convolutions, SendWhatTheirCutNeeds) {
  SetDeviceCount(8);
  for (const Case& c : Convolutions()) ExpectCase(c);
}

TEST(Convolutions, HaveGradientsOnShards) {
  SetDeviceCount(8);
  const auto loss = [](Array a, Array k) {
    const Array y = conv(a, k, {2}, {{{1, 1}}});
    return sum(y * y);
  };
  const Array a = Numbers({2, 4, 16}, 0.7), k = Numbers({4, 4, 3}, 0.3);
  const auto want = grad<0, 1>(loss)(a, k);
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  const auto got = grad<0, 1>(loss)(reshard(a, P("y", None, "x")), reshard(k, P()));
  EXPECT_EQ(type_of(std::get<0>(got)).text(), "f32[2@y,4,16@x]");
  EXPECT_EQ(type_of(std::get<1>(got)).text(), "f32[4,4,3]");
  const auto near = [](const Array& x, const Array& y) {
    const auto xs = x.to_vector<float>(), ys = y.to_vector<float>();
    ASSERT_EQ(xs.size(), ys.size());
    for (size_t i = 0; i < xs.size(); ++i) ASSERT_NEAR(xs[i], ys[i], 1e-3) << i;
  };
  near(std::get<0>(got), std::get<0>(want));
  near(std::get<1>(got), std::get<1>(want));
}

// By their parts; the numbers are numpy.convolve's.
TEST(Windows, OfComplexNumbers) {
  using Complex = std::complex<double>;
  const Array x = array({Complex(1, 2), Complex(3, -1), Complex(0, 5), Complex(2, 2)});
  const Array w = array({Complex(1, 2), Complex(3, -1)});
  const auto lines = [](const Array& v) { return reshape(v, {1, 1, -1}); };
  const Array y = conv(lines(x), lines(w), {1}, "VALID");
  EXPECT_EQ(type_of(y).text(), "c64[1,1,3]");
  EXPECT_EQ(y.to_vector<Complex>(), (std::vector<Complex>{{5, -2}, {10, 20}, {-2, 9}}));
  EXPECT_EQ(reduce_window(x, Reduction::kSum, {2}).to_vector<Complex>(),
            (std::vector<Complex>{{4, 1}, {3, 4}, {2, 7}}));
  const ConvOptions wide{.dtype = c128};
  EXPECT_EQ(
      type_of(conv_general_dilated(ones({1, 1, 4}), ones({1, 1, 2}), {1}, "VALID", wide)).text(),
      "c128[1,1,3]");
}

}  // namespace
}  // namespace tessera::windows_test

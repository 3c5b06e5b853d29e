// Reductions, windows, sorts and scatters by functions of the user, against plain loops.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace tessera::combiners_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The map t -> scale t + shift; composing maps is associative, but not commutative.
struct Affine {
  Array scale, shift;
};
TESSERA_FIELDS(Affine, scale, shift);

Affine Composed(Affine first, Affine second) {
  return {first.scale * second.scale, second.scale * first.shift + second.shift};
}
Array LogAddExp(Array a, Array b) { return logaddexp(a, b); }
// Written so that it is no single op.
Array Summed(Array a, Array b) { return a + b + 0 * a; }

Array Numbers(Shape shape, double scale = 1.3) {
  int64_t n = 1;
  for (int64_t size : shape.dims()) n *= size;
  return reshape(sin(arange(n, {.dtype = f64}) * scale), shape);
}
Affine SomeMaps(Shape shape) { return {Numbers(shape), Numbers(shape, 0.7)}; }
Affine Identity() { return {array(1.0, {.dtype = f64}), array(0.0, {.dtype = f64})}; }

double Distance(const Array& a, const Array& b) {
  EXPECT_EQ(type_of(a).text(), type_of(b).text());
  return max(abs(a - b)).item<double>();
}
class Combiners : public testing::Test {
 protected:
  Combiners() { SetDeviceCount(8); }
};

TEST_F(Combiners, ReduceKeepsTheOrder) {
  for (int64_t n : {1, 2, 3, 7, 8, 37, 100}) {
    const Affine maps = SomeMaps({n, 3});
    const Affine all = reduce(Composed, maps, Identity(), {0});
    const std::vector<double> a = maps.scale.to_vector<double>(),
                              b = maps.shift.to_vector<double>(),
                              scale = all.scale.to_vector<double>(),
                              shift = all.shift.to_vector<double>();
    for (size_t j = 0; j < 3; ++j) {
      double s = 1, t = 0;
      for (size_t i = j; i < a.size(); i += 3) {
        t = a[i] * t + b[i];
        s *= a[i];
      }
      EXPECT_NEAR(scale[j], s, 1e-12) << n;
      EXPECT_NEAR(shift[j], t, 1e-12) << n;
    }
  }
}

TEST_F(Combiners, ReduceTakesDimsInRowMajorOrder) {
  const Affine maps = SomeMaps({4, 3, 5});
  const Affine flat{reshape(maps.scale, {60}), reshape(maps.shift, {60})};
  EXPECT_LT(
      Distance(reduce(Composed, maps, Identity()).shift, reduce(Composed, flat, Identity()).shift),
      1e-14);
  EXPECT_EQ(type_of(reduce(Composed, maps, Identity(), {-1, 0}).shift).text(), "f64[3]");
}

TEST_F(Combiners, ReduceCombinesTheInitOnce) {
  const Array x = array({1.0, 2.0, 3.0});
  EXPECT_EQ(reduce(Summed, x, 10.0).item<float>(), 16);
  EXPECT_EQ(reduce([](Array a, Array b) { return a + b; }, x, 10.0).item<float>(), 16);
  EXPECT_EQ(reduce(Summed, zeros({0, 2}), 10.0, {0}).to_vector<float>(),
            (std::vector<float>{10, 10}));
  EXPECT_EQ(reduce(Summed, x, 10.0, {}).to_vector<float>(), (std::vector<float>{11, 12, 13}));
}

TEST_F(Combiners, AKnownReductionIsItsOp) {
  const auto text = [](auto combine) {
    return jit([=](Array x) { return reduce(combine, x, 1.0, {0}); }).trace(ones({4, 2})).text();
  };
  EXPECT_THAT(text([](Array a, Array b) { return b * a; }), HasSubstr("reduce_prod"));
  EXPECT_THAT(text([](Array a, Array b) { return maximum(a, b); }), HasSubstr("reduce_max"));
  EXPECT_THAT(text([](Array a, Array b) { return a - b; }), Not(HasSubstr("reduce")));
}

TEST_F(Combiners, ReduceSeesScalarsAndCapturesThem) {
  const Array floor = array(0.5);
  std::string seen;
  const Array y = reduce(
      [&](Array a, Array b) {
        seen = type_of(a).text();
        return maximum(maximum(a, b), floor);
      },
      array({{0.1, 2.0}, {0.2, 0.3}}), 0.0, {1});
  EXPECT_EQ(seen, "f32[]");
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{2, 0.5}));
}

TEST_F(Combiners, DerivativesGoThroughTheFunction) {
  const Array x = Numbers({7});
  const Array g = grad([](Array v) { return reduce(LogAddExp, v, -INFINITY); })(x);
  EXPECT_LT(Distance(g, softmax(x)), 1e-14);
  check_grads(
      [](Array v) {
        return reduce_window([](Array a, Array b) { return hypot(a, b); }, v, 0.0, {3},
                             {.strides = {2}});
      },
      x);
  check_grads([](Array v) { return sort(v, [](Array a, Array b) { return abs(a) < abs(b); }); }, x);
  const Array at = reshape(array({4, 1, 4}), {3, 1});
  check_grads(
      [&](Array v, Array u) {
        return scatter(v, at, u, LogAddExp, {.inserted = {0}, .start = {0}});
      },
      std::tuple(x, Numbers({3})));
}

// The root has no derivative at 0, which padding and other elements' updates must not reach.
TEST_F(Combiners, DerivativesIgnoreWhatIsNotCombined) {
  const auto norm = [](Array a, Array b) { return sqrt(a * a + b * b); };
  const Array ones3 = ones({3}, f64);
  const auto windows = [&](Array v) {
    return sum(reduce_window(norm, v, 0.0, {3}, {.padding = {{{2, 4}}}}));
  };
  const std::vector<double> g = grad(windows)(ones3).to_vector<double>();
  const double in_two = 1 / std::sqrt(2), in_three = 1 / std::sqrt(3);
  for (double v : {g[0] - (1 + in_two + in_three), g[1] - (2 * in_two + in_three)})
    EXPECT_NEAR(v, 0, 1e-14);
  const Array at = reshape(array({1, 2}), {2, 1});
  const auto scattered = [&](Array u) {
    return sum(scatter(ones3, at, u, norm, {.inserted = {0}, .start = {0}}));
  };
  EXPECT_EQ(grad(scattered)(zeros({2}, f64)).to_vector<double>(), (std::vector<double>{0, 0}));
}

TEST_F(Combiners, AreMapped) {
  const Array x = Numbers({3, 8});
  EXPECT_LT(Distance(vmap([](Array v) { return reduce(Summed, v, 0.0); })(x), sum(x, 1)), 1e-14);
  const auto by_size = [](Array a, Array b) { return abs(a) > abs(b); };
  const Array rows = vmap([&](Array v) { return sort(v, by_size); })(x);
  EXPECT_LT(Distance(abs(rows), flip(sort(abs(x)), 1)), 1e-14);
}

TEST_F(Combiners, ReduceOfShardsGathersOneElementOfEach) {
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  const Affine maps = SomeMaps({32, 6});
  const Affine whole = reduce(Composed, maps, Identity(), {0});
  const Affine cut{reshard(maps.scale, P("x", "y")), reshard(maps.shift, P("x", "y"))};
  const auto f = jit([](Affine a) { return reduce(Composed, a, Identity(), {0}); });
  const Affine reduced = f(cut);
  EXPECT_EQ(type_of(reduced.shift).text(), "f64[6@y]");
  EXPECT_LT(Distance(reshard(reduced.shift, P()), reshard(whole.shift, P())), 1e-14);
  const CommReport comm = f.lower(cut).comm();
  // Each device gets three elements of each of its three columns, for two arrays.
  EXPECT_EQ(comm.bytes(), 2 * 3 * 3 * 8) << comm;
}

TEST_F(Combiners, AutoReducesShardsToo) {
  MeshScope scope(make_mesh({{"x", 4}}, {.mode = AxisMode::Auto}));
  const Affine maps = SomeMaps({32, 6});
  const auto f = jit([](Affine a) {
    for (Array* x : {&a.scale, &a.shift}) *x = with_sharding_constraint(*x, P("x"));
    return reduce(Composed, a, Identity(), {0});
  });
  const Affine whole = reduce(Composed, maps, Identity(), {0});
  EXPECT_LT(max(abs(f(maps).shift - whole.shift)).item<double>(), 1e-14);
  EXPECT_LE(f.lower(maps).comm().bytes(), 2 * 3 * 6 * 8) << f.lower(maps).comm();
}

TEST_F(Combiners, ManualReducesTheShardOfADevice) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = Numbers({8, 2});
  const auto f = shard_map([](Array v) { return reduce(Summed, v, 0.0, {0}); },
                           {.in_specs = P("x"), .out_specs = P("x")});
  EXPECT_LT(Distance(reshard(f(reshard(x, P("x"))), P()),
                     reshard(reshape(sum(reshape(x, {4, 2, 2}), 1), {8}), P())),
            1e-14);
}

// Combines the windows of maps along one dim.
std::vector<double> WindowedMaps(const Affine& maps, int64_t window, int64_t stride, int64_t low,
                                 int64_t high, int64_t base, int64_t dilation) {
  const std::vector<double> a = maps.scale.to_vector<double>(), b = maps.shift.to_vector<double>();
  const int64_t spread = (static_cast<int64_t>(a.size()) - 1) * base + 1 + low + high;
  std::vector<double> shifts;
  for (int64_t i = 0; i + (window - 1) * dilation < spread; i += stride) {
    double t = 0.25;  // the init's shift
    for (int64_t w = 0; w < window; ++w) {
      const int64_t p = i + w * dilation - low;
      if (p < 0 || p % base != 0 || p / base >= static_cast<int64_t>(a.size())) continue;
      const auto k = static_cast<size_t>(p / base);
      t = a[k] * t + b[k];
    }
    shifts.push_back(t);
  }
  return shifts;
}

TEST_F(Combiners, WindowsCombineTheirElementsInOrder) {
  const Affine maps = SomeMaps({17}), init{array(1.0, {.dtype = f64}), array(0.25, {.dtype = f64})};
  for (int64_t window : {1, 2, 3, 5, 8})
    for (int64_t stride : {1, 3})
      for (auto [low, high] : {std::pair{0, 0}, {2, 3}, {-1, 4}, {9, 0}})
        for (int64_t base : {1, 2})
          for (int64_t dilation : {1, 2}) {
            const Affine y = reduce_window(Composed, maps, init, {window},
                                           {.strides = {stride},
                                            .padding = {{{low, high}}},
                                            .base_dilation = {base},
                                            .window_dilation = {dilation}});
            const std::vector<double> wanted =
                WindowedMaps(maps, window, stride, low, high, base, dilation);
            EXPECT_THAT(y.shift.to_vector<double>(),
                        testing::Pointwise(testing::DoubleNear(1e-12), wanted))
                << window << " " << stride << " " << low << " " << high << " " << base << " "
                << dilation;
          }
}

TEST_F(Combiners, WindowsAlongTwoDims) {
  const Array x = Numbers({6, 7, 2});
  const WindowOptions options{.strides = {2, 1, 1}, .padding = {{{1, 0}, {2, 2}, {0, 0}}}};
  EXPECT_LT(Distance(reduce_window(Summed, x, 0.0, {3, 4, 1}, options),
                     reduce_window(x, Reduction::kSum, {3, 4, 1}, options)),
            1e-14);
  const auto text =
      jit([](Array v) {
        return reduce_window([](Array a, Array b) { return minimum(a, b); }, v, 0.0, {2});
      })
          .trace(ones({4}))
          .text();
  EXPECT_THAT(text, HasSubstr("reduce_window_min"));
}

TEST_F(Combiners, WindowsOfABatchOnShards) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = Numbers({8, 9});
  const Array y = reduce_window(Summed, reshard(x, P("x")), 0.0, {1, 3});
  EXPECT_EQ(type_of(y).text(), "f64[8@x,7]");
  EXPECT_LT(Distance(reshard(y, P()), reshard(reduce_window(x, Reduction::kSum, {1, 3}), P())),
            1e-14);
}

TEST_F(Combiners, SortByAComparatorIsStable) {
  for (int64_t n : {0, 1, 2, 3, 8, 13, 100}) {
    const Array x = Numbers({n}), key = astype(floor(abs(x) * 4), i32);
    const auto later = [](std::tuple<Array, Array> a, std::tuple<Array, Array> b) {
      return std::get<1>(a) % 3 < std::get<1>(b) % 3;
    };
    const auto [xs, keys] = sort(std::tuple(x, key), later);
    std::vector<double> values = x.to_vector<double>();
    const std::vector<int32_t> of = key.to_vector<int32_t>();
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return of[a] % 3 < of[b] % 3; });
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(xs.to_vector<double>()[i], values[order[i]]) << n;
      EXPECT_EQ(keys.to_vector<int32_t>()[i], of[order[i]]) << n;
    }
  }
}

// Not strict weak orders: the order is unspecified, but no element is lost.
TEST_F(Combiners, SortByAnyComparatorKeepsTheElements) {
  using Pair = std::pair<Array, Array>;
  const Array x = arange(100, {.dtype = i32});
  const auto sorted = [](const Array& a) { return sort(a).to_vector<int32_t>(); };
  EXPECT_EQ(sorted(sort(x, [](Array a, Array b) { return a % 7 <= b % 7; })), sorted(x));
  EXPECT_EQ(sorted(sort(x, [](Array a, Array b) { return a != b; })), sorted(x));
  const Pair both = sort(Pair(array({1, 1, 0, 0}), array({0, 1, 2, 3})), [](Pair a, Pair b) {
    return (a.first < b.first) | ((a.first == b.first) & (a.first <= b.first));
  });
  EXPECT_EQ(both.first.to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(both.second.to_vector<int32_t>(), (std::vector<int32_t>{2, 3, 0, 1}));
}

TEST_F(Combiners, ReduceOfShardsOfOneElement) {
  MeshScope scope(make_mesh({{"x", 8}}));
  const Array x = arange(8.0);
  for (const Array& y : {reduce(LogAddExp, reshard(x, P("x")), -INFINITY), vmap([](Array v) {
                           return reduce(LogAddExp, v, -INFINITY);
                         })(reshard(reshape(x, {1, 8}), P(None, "x")))[0]})
    EXPECT_NEAR(y.item<float>(), std::log(std::exp(7.0) * 1.58177), 1e-3);
}

// Tracing does no work per position.
TEST_F(Combiners, WindowsOfManyPositionsAreTyped) {
  const auto f = jit([](Array v) {
    return reduce_window(LogAddExp, v, 0.0, {3, 1}, {.padding = {{{1, 1}, {0, 0}}}});
  });
  EXPECT_EQ(type_of(eval_shape(f, abstract_array("f32[1099511627776,4]"))).text(),
            "f32[1099511627776,4]");
}

TEST_F(Combiners, SortByAKnownComparator) {
  const std::tuple both(array({3, 1, 3, 2}), array({0, 1, 2, 3}));
  using Both = std::tuple<Array, Array>;
  const auto up = [](Both a, Both b) { return std::get<0>(a) < std::get<0>(b); };
  const auto down = [](Both a, Both b) { return std::get<0>(a) > std::get<0>(b); };
  EXPECT_EQ(std::get<1>(sort(both, up)).to_vector<int32_t>(), (std::vector<int32_t>{1, 3, 0, 2}));
  EXPECT_EQ(std::get<1>(sort(both, down)).to_vector<int32_t>(), (std::vector<int32_t>{0, 2, 3, 1}));
  EXPECT_THAT(jit([&](Both xs) { return sort(xs, down); }).trace(both).text(),
              Not(HasSubstr("while_loop")));
}

TEST_F(Combiners, SortAlongAnyDimOnShards) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = Numbers({8, 6});
  const auto by_size = [](Array a, Array b) { return abs(a) < abs(b); };
  const Array rows = sort(reshard(x, P("x")), by_size, 1);
  EXPECT_EQ(type_of(rows).text(), "f64[8@x,6]");
  EXPECT_LT(Distance(reshard(rows, P()), reshard(sort(x, by_size, 1), P())), 1e-14);
  const Array columns = sort(reshard(x, P("x")), by_size, 0, {.out_sharding = P("x")});
  EXPECT_EQ(type_of(columns).text(), "f64[8@x,6]");
  EXPECT_LT(Distance(reshard(columns, P()), reshard(sort(x, by_size, 0), P())), 1e-14);
}

TEST_F(Combiners, ScatterCombinesUpdatesInOrder) {
  const Array x = array({1.0, 2.0, 3.0, 4.0});
  const Array at = reshape(array({2, 0, 2, 9, 2}), {5, 1});
  const Array u = array({10.0, 20.0, 30.0, 40.0, 50.0});
  const ScatterDims dims{.inserted = {0}, .start = {0}};
  const auto second = [](Array a, Array b) { return where(b > 0, b, a); };
  EXPECT_EQ(scatter(x, at, u, second, dims).to_vector<float>(), (std::vector<float>{20, 2, 50, 4}));
  EXPECT_EQ(scatter(x, at, u, Summed, dims).to_vector<float>(), (std::vector<float>{21, 2, 93, 4}));
  EXPECT_EQ(scatter(
                x, at, u, [](Array, Array b) { return b; }, dims)
                .to_vector<float>(),
            (std::vector<float>{20, 2, 50, 4}));
  EXPECT_EQ(scatter(x, at, u, Summed, dims, {.mode = LookupMode::kClip}).to_vector<float>(),
            (std::vector<float>{21, 2, 93, 44}));
}

TEST_F(Combiners, ScatterOfSlices) {
  const Array x = Numbers({5, 4, 3});
  const Array at = array({{0, 1}, {3, 2}, {0, 1}, {4, 3}});
  const Array u = Numbers({4, 2, 3}, 0.9);
  const ScatterDims dims{.window = {1, 2}, .inserted = {0}, .start = {0, 1}};
  EXPECT_LT(Distance(scatter(x, at, u, Summed, dims), scatter_add(x, at, u, dims)), 1e-14);
}

TEST_F(Combiners, ScatterGathersIfAsked) {
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array x = reshard(Numbers({4}), P("x"));
  const Array at = reshape(array({2, 0, 2}), {3, 1});
  const ScatterDims dims{.inserted = {0}, .start = {0}};
  const Array y = scatter(x, at, Numbers({3}), Summed, dims, {.out_sharding = P("x")});
  EXPECT_EQ(type_of(y).text(), "f64[4@x]");
  EXPECT_LT(Distance(reshard(y, P()), scatter_add(reshard(x, P()), at, Numbers({3}), dims)), 1e-14);
}

}  // namespace
}  // namespace tessera::combiners_test

// vmap: input and output dims, loops and branches that differ between batch elements, the
// communication of mapped programs, and gradients.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>
#include <tuple>

namespace tessera::vmap_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<float> Values(const Array& x) { return x.to_vector<float>(); }

Array Numbers(Shape shape) {
  return sin(iota(shape, 0, {.dtype = f32}) * 3 + iota(shape, -1, {.dtype = f32}));
}

struct Params {
  Array w, b;
  int steps = 0;
};
TESSERA_FIELDS(Params, w, b, steps);

TEST(Vmap, MapsAlongAnyDims) {
  auto f = [](Array x, Array y) { return std::pair(matmul(x, y), x[{0}]); };
  Array x = Numbers({3, 4, 5}), y = Numbers({5, 2});
  auto [product, first] = vmap(f, {.in_dims = {1, None}, .out_dims = {1, -1}})(x, y);
  EXPECT_EQ(type_of(product).text(), "f32[3,4,2]");
  EXPECT_EQ(type_of(first).text(), "f32[5,4]");
  EXPECT_THAT(Values(product), Pointwise(FloatNear(1e-6f), Values(matmul(x, y))));
  EXPECT_EQ(Values(first), Values(transpose(x[{0}])));
}

TEST(Vmap, TakesTreesWithPartsMapped) {
  auto f = [](const Params& p, std::pair<Array, Array> xy) {
    return Params{p.w * xy.first, p.b + xy.second, p.steps + 1};
  };
  const Params p{Numbers({3}), Numbers({4, 3}), 7};
  const std::pair xy(Numbers({4}), Numbers({3}));
  const Params out = vmap(f, {.in_dims = {{None, 0}, {0, None}}})(p, xy);
  EXPECT_EQ(out.steps, 8);
  EXPECT_EQ(Values(out.w), Values(outer(xy.first, p.w)));
  EXPECT_EQ(Values(out.b), Values(p.b + xy.second));
}

TEST(Vmap, RepeatsWhatIsTheSameInAllLanes) {
  auto f = [](Array x) { return std::tuple(x, ones({2}), ones({2})); };
  auto [mapped, repeated, once] = vmap(f, {.out_dims = {0, 1, None}})(Numbers({3}));
  EXPECT_EQ(type_of(repeated).text(), "f32[2,3]");
  EXPECT_EQ(type_of(once).text(), "f32[2]");
  Array lanes = vmap([]() { return ones({2}); }, {.size = 3})();
  EXPECT_EQ(type_of(lanes).text(), "f32[3,2]");
}

TEST(Vmap, NestsAndIsTracedOnce) {
  static int traces = 0;
  auto dot = [](Array a, Array b) { return ++traces, sum(a * b); };
  auto all_pairs = vmap(vmap(dot, {.in_dims = {None, 0}}), {.in_dims = {0, None}});
  Array a = Numbers({3, 4}), b = Numbers({5, 4});
  EXPECT_THAT(Values(all_pairs(a, b)), Pointwise(FloatNear(1e-6f), Values(matmul(a, b.T()))));
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(Values(jit(all_pairs)(a, b)), Values(all_pairs(a, b)));
}

// Each lane takes its own branch.
TEST(Vmap, ChoosesBranchesByLane) {
  auto f = [](Array x) {
    return cond(
        x > 1, [](Array v) { return std::pair(v * 2, sqrt(v)); },
        [](Array v) { return std::pair(-v, v); }, x);
  };
  auto [a, b] = vmap(f)(array({0.0f, 1.0f, 4.0f}));
  EXPECT_THAT(Values(a), ElementsAre(0, -1, 8));
  EXPECT_THAT(Values(b), ElementsAre(0, 1, 2));
  auto g = [](Array i, Array x) {
    return switch_case(i,
                       std::tuple([](Array v) { return v; }, [](Array v) { return v * 10; },
                                  [](Array v) { return v * 100; }),
                       x);
  };
  EXPECT_THAT(Values(vmap(g, {.in_dims = {0, None}})(array({-1, 0, 1, 2, 9}), 3.0f)),
              ElementsAre(3, 3, 30, 300, 300));
  // One index for all lanes: one branch runs.
  auto program = vmap(g, {.in_dims = {None, 0}}).trace(Array(1), Numbers({3})).text();
  EXPECT_THAT(program, testing::HasSubstr("switch_case"));
}

TEST(Vmap, LoopsUntilAllLanesAreDone) {
  auto f = [](Array x, Array limit) {
    return while_loop(
        [=](std::pair<Array, Array> s) { return s.first < limit; },
        [](std::pair<Array, Array> s) { return std::pair(s.first * 2, s.second + 1); },
        std::pair(x, Array(0)));
  };
  auto [x, steps] = vmap(f, {.in_dims = {0, None}})(array({1.0f, 20.0f, 3.0f}), 10.0f);
  EXPECT_THAT(Values(x), ElementsAre(16, 20, 12));
  EXPECT_THAT(steps.to_vector<int32_t>(), ElementsAre(4, 0, 2));
  // A lane that is done is left alone, also where another iteration would be NaN.
  auto root = [](Array v) {
    return while_loop([](Array s) { return s > 1; }, [](Array s) { return sqrt(s - 1); }, v);
  };
  EXPECT_THAT(Values(vmap(root)(array({0.5f, 1.5f}))), ElementsAre(0.5f, std::sqrt(0.5f)));
  // The same number of iterations in all lanes stays one number.
  auto fixed = [](Array v) {
    return fori_loop(
        0, 3, [](Array i, Array s) { return s * (i + 1).astype(f32); }, v);
  };
  EXPECT_THAT(vmap(fixed).trace(Numbers({2})).text(), testing::HasSubstr("region(%4: i32[], "));
  EXPECT_EQ(Values(vmap(fixed)(Numbers({2}))), Values(Numbers({2}) * 6));
}

TEST(Vmap, MapsScans) {
  auto f = [](Array c, Array xs) {
    return scan([](Array s, Array x) { return std::pair(s * 0.5f + x, s + x); }, c, xs,
                {.reverse = true});
  };
  Array c = Numbers({3}), xs = Numbers({4, 3});
  auto [last, ys] = vmap(f, {.in_dims = {0, 1}, .out_dims = {0, 1}})(c, xs);
  for (int lane = 0; lane < 3; ++lane) {
    auto [one, y] = f(c[{lane}], xs[{All, lane}]);
    EXPECT_EQ(last[{lane}].item<float>(), one.item<float>());
    EXPECT_EQ(Values(ys[{All, lane}]), Values(y));
  }
  auto [carry, same] = vmap(f, {.in_dims = {None, 1}, .out_dims = {0, 1}})(Array(1.0f), xs);
  EXPECT_EQ(Values(same[{All, 1}]), Values(f(Array(1.0f), xs[{All, 1}]).second));
}

TEST(Vmap, KeepsTheShardingAndSendsNothing) {
  SetDeviceCount(8);
  {
    MeshScope mesh(make_mesh({{"data", 4}, {"model", 2}}));
    auto layer = [](Array x, Array w) { return softmax(tanh(matmul(x, w)), -1); };
    Array x = reshard(Numbers({8, 6, 4}), P("data")), w = reshard(Numbers({4, 6}), P());
    const auto mapped = vmap(layer, {.in_dims = {0, None}});
    Array out = mapped(x, w);
    EXPECT_EQ(type_of(out).text(), "f32[8@data,6,6]");
    EXPECT_TRUE(mapped.lower(x, w).comm().events().empty());
    EXPECT_THAT(Values(reshard(out, P())),
                Pointwise(FloatNear(1e-6f), Values(reshard(layer(x, w), P()))));
    // Inside, the other axes are used as ever.
    auto inner = [](Array v) { return sum(reshard(v, P("model"))); };
    EXPECT_EQ(type_of(vmap(inner)(x[{All, 0}])).text(), "f32[8@data]");
  }
  SetDeviceCount(1);
}

// A value that is reduced over the axes of the mapped dim is the same for all batch elements. Each
// uses such a bias or gain, and its gradient is a partial sum.
TEST(Vmap, SharesWhatIsReducedOverItsAxes) {
  SetDeviceCount(4);
  {
    MeshScope mesh(make_mesh({{"data", 4}}));
    auto layer = [](Array x, Array w, Array b) {
      return layer_norm(tanh(matmul(x, w) + b) * (1 + b), b, 0.5 * b, -1);
    };
    auto loss = [&](Array w, Array b, Array xs) {
      return sum(square(vmap(layer, {.in_dims = {0, None, None}})(xs, w, b)));
    };
    const Array xs = Numbers({8, 4}), w = Numbers({4, 6}), b = linspace(0.2, 1.0, 6);
    const auto reduced = [](Array v) { return reshard(v, P().reduced("data")); };
    const auto step = jit(grad<0, 1>(loss));
    const Array rows = reshard(xs, P("data", None));
    EXPECT_TRUE(step.lower(reduced(w), reduced(b), rows).comm().empty());
    const auto [dw, db] = step(reduced(w), reduced(b), rows);
    EXPECT_EQ(type_of(dw).text(), "f32[4,6]{U:data}");
    EXPECT_EQ(type_of(db).text(), "f32[6]{U:data}");
    const auto [want_w, want_b] = step(w, b, xs);
    EXPECT_TRUE(allclose(reshard(dw, P()), want_w, {.rtol = 1e-4}).item<bool>());
    EXPECT_TRUE(allclose(reshard(db, P()), want_b, {.rtol = 1e-4}).item<bool>());
    // A bound is not used linearly: it is refused, as beside rows.
    auto bounded = [&](Array x) { return maximum(x, reduced(linspace(0.2, 1.0, 4))); };
    EXPECT_THROW(vmap(bounded)(rows), ShardingError);
  }
  SetDeviceCount(1);
}

// Under Auto axes a constraint inside says nothing of the mapped dim, unless .sharding does.
TEST(Vmap, ConstraintsLeaveTheMappedDimOpen) {
  SetDeviceCount(4);
  {
    MeshScope mesh(make_mesh({{"x", 2, Auto}, {"y", 2, Auto}}));
    auto f = [](Array v) { return with_sharding_constraint(v * 2, P("y")) + 1; };
    const std::string open = vmap(f).trace(Numbers({4, 4})).text();
    EXPECT_THAT(open, testing::HasSubstr("<@mesh, [{?}, {\"y\"}]>"));
    const std::string over_x = vmap(f, {.sharding = "x"}).trace(Numbers({4, 4})).text();
    EXPECT_THAT(over_x, testing::HasSubstr("<@mesh, [{\"x\"}, {\"y\"}]>"));
    EXPECT_EQ(Values(vmap(f, {.sharding = "x"})(Numbers({4, 4}))), Values(Numbers({4, 4}) * 2 + 1));
  }
  SetDeviceCount(1);
}

TEST(Vmap, OfAutoAxesKeepsTheMappedDim) {
  SetDeviceCount(4);
  {
    MeshScope mesh(make_mesh({{"x", 2}, {"y", 2}}));
    auto inner =
        auto_axes([](Array v) { return exp(v) * v; }, {.axes = "y", .out_sharding = P("y")});
    Array out = vmap([&](Array v) { return inner(v); })(reshard(Numbers({4, 4}), P("x", "y")));
    EXPECT_EQ(type_of(out).text(), "f32[4@x,4@y]");
    EXPECT_EQ(Values(reshard(out, P())), Values(exp(Numbers({4, 4})) * Numbers({4, 4})));
  }
  SetDeviceCount(1);
}

TEST(Vmap, OfGradientsAndGradientsOfIt) {
  auto loss = [](Array w, Array x) { return sum(square(tanh(matmul(x, w)))); };
  Array w = Numbers({4, 3}), xs = Numbers({5, 4});
  Array each = vmap(grad(loss), {.in_dims = {None, 0}})(w, xs);
  EXPECT_EQ(type_of(each).text(), "f32[5,4,3]");
  auto total = [&](Array v) { return sum(vmap(loss, {.in_dims = {None, 0}})(v, xs)); };
  EXPECT_THAT(Values(grad(total)(w)), Pointwise(FloatNear(1e-5f), Values(sum(each, 0))));
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(Values(each[{i}]), Pointwise(FloatNear(1e-6f), Values(grad(loss)(w, xs[{i}]))));
}

// The result is the same for all batch elements, but the derivative in the mapped argument is not.
TEST(Vmap, OfARuleWhoseResultDoesNotDependOnTheMappedArgument) {
  auto f = custom_vjp([](Array, Array q) { return q * 1; },
                      [](Array, Array q) { return std::pair(q * 1, None); },
                      [](NoneType, Array ct) { return std::tuple(ct, ct * 0); });
  const Array weights = array({1.0f, 10.0f, 100.0f});
  auto loss = [&](Array v) {
    auto lane = [&](Array a, Array q) { return f(a, q); };
    return sum(vmap(lane, {.in_dims = {0, None}})(v, Array(5.0f)) * weights);
  };
  EXPECT_THAT(Values(grad(loss)(ones({3}))), ElementsAre(1, 10, 100));
}

TEST(Vmap, OfMoreBranchesThanTheIndexHasNumbers) {
  std::vector<std::function<Array(Array)>> branches;
  for (int i = 0; i < 130; ++i) branches.emplace_back([i](Array v) { return v + i; });
  auto f = [&](Array i, Array x) { return switch_case(i, branches, x); };
  EXPECT_THAT(Values(vmap(f)(array({-3, 5, 126, 127}).astype(i8), zeros({4}))),
              ElementsAre(0, 5, 126, 127));
  EXPECT_THAT(Values(vmap(f)(array({0, 128, 129, 255}).astype(u8), zeros({4}))),
              ElementsAre(0, 128, 129, 129));
}

TEST(Vmap, LooksUpByLane) {
  Array table = Numbers({6, 3}), index = array({5, 0, 2});
  auto row = [](Array t, Array i) { return t[{i}]; };
  EXPECT_EQ(Values(vmap(row, {.in_dims = {None, 0}})(table, index)), Values(take(table, index, 0)));
  auto put = [](Array t, Array i, Array v) { return t.at({i}).set(v); };
  Array written = vmap(put, {.in_dims = {None, 0, 0}})(table, index, Numbers({3, 3}));
  for (int lane = 0; lane < 3; ++lane)
    EXPECT_EQ(Values(written[{lane}]), Values(put(table, index[{lane}], Numbers({3, 3})[{lane}])));
}

}  // namespace
}  // namespace tessera::vmap_test

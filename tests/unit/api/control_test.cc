// Control flow: what programs compute, on one device and on meshes, traced, eager and abstract.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera {
namespace {

using testing::ElementsAre;

TEST(WhileLoop, RunsWhileTheConditionHolds) {
  auto doubled = [](Array x) {
    return while_loop([](Array v) { return v < 100; }, [](Array v) { return v * 2; }, x);
  };
  EXPECT_EQ(doubled(array({3, 4})[0]).item<int>(), 192);
  EXPECT_EQ(jit(doubled)(array({3, 4})[1]).item<int>(), 128);
  EXPECT_EQ(jit(doubled)(array({300})[0]).item<int>(), 300);
}

TEST(WhileLoop, CarriesTrees) {
  auto fibonacci = jit([](Array n) {
    using State = std::tuple<Array, Array, Array>;
    auto [i, a, b] = while_loop([&](State s) { return std::get<0>(s) < n; },
                                [](State s) {
                                  auto [i, a, b] = s;
                                  return State(i + 1, b, a + b);
                                },
                                State(0, 0, 1));
    return a;
  });
  EXPECT_EQ(fibonacci(10).item<int>(), 55);
  EXPECT_EQ(fibonacci(1).item<int>(), 1);
  EXPECT_EQ(fibonacci(0).item<int>(), 0);
}

TEST(Cond, RunsOneBranch) {
  auto f = [](Array p, Array x) {
    return cond(
        p, [](Array v) { return v + 1; }, [&](Array v) { return v * x; }, x);
  };
  Array x = array({2.f, 3.f});
  EXPECT_THAT(f(array({true})[0], x).to_vector<float>(), ElementsAre(3, 4));
  EXPECT_THAT(jit(f)(array({false})[0], x).to_vector<float>(), ElementsAre(4, 9));
}

TEST(SwitchCase, ClampsTheIndex) {
  auto f = jit([](Array i, Array x) {
    return switch_case(i,
                       std::tuple([](Array v) { return v; }, [](Array v) { return v * 2; },
                                  [](Array v) { return -v; }),
                       x);
  });
  int wanted[] = {5, 5, 10, -5, -5};
  for (int i = -1; i < 4; ++i) EXPECT_EQ(f(i, 5).item<int>(), wanted[i + 1]) << i;
}

TEST(ForiLoop, CountsFromLowerToUpper) {
  auto sum = [](Array lower, Array upper) {
    return fori_loop(
        lower, upper, [](Array i, Array s) { return s + i; }, 0);
  };
  EXPECT_EQ(sum(2, 5).item<int>(), 9);
  EXPECT_EQ(jit(sum)(5, 2).item<int>(), 0);
  EXPECT_EQ(fori_loop(
                2, 5, [](Array i, Array s) { return s + i; }, 0)
                .item<int>(),
            9);
  EXPECT_EQ(fori_loop(
                5, 2, [](Array i, Array s) { return s + i; }, 7)
                .item<int>(),
            7);
}

TEST(Scan, CarriesAndStacks) {
  auto f = [](Array c, Array x) { return std::pair(c * x + 1.f, c * x); };
  Array xs = array({1.f, 2.f, 3.f});
  auto [c, ys] = scan(f, array({2.f})[0], xs);
  EXPECT_EQ(c.item<float>(), 22);
  EXPECT_THAT(ys.to_vector<float>(), ElementsAre(2, 6, 21));
  auto [rc, rys] = jit([&](Array v) { return scan(f, array({2.f})[0], v, {.reverse = true}); })(xs);
  EXPECT_EQ(rc.item<float>(), 16);
  EXPECT_THAT(rys.to_vector<float>(), ElementsAre(15, 14, 6));
}

TEST(Scan, NeedsNeitherXsNorYs) {
  auto powers = scan([](Array c, NoneType) { return std::pair(c * 2, c); }, array({1})[0], None,
                     {.length = 5});
  EXPECT_EQ(powers.first.item<int>(), 32);
  EXPECT_THAT(powers.second.to_vector<int>(), ElementsAre(1, 2, 4, 8, 16));
  auto last = scan([](Array c, Array x) { return std::pair(c + x, None); }, 0, array({1, 2, 3}));
  EXPECT_EQ(last.first.item<int>(), 6);
  auto none =
      scan([](Array c, Array x) { return std::pair(c + x, x); }, 0, array({1})[{Slice(1, 1)}]);
  EXPECT_EQ(none.first.item<int>(), 0);
  EXPECT_EQ(none.second.size(), 0);
}

}  // namespace
}  // namespace tessera

// Results of control flow on one device and on meshes, traced, eager and abstract.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>
#include <optional>

#include "ir/program.h"

namespace tessera::control_test {
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

// Weak numbers in a carry take the type that the body returns.
TEST(Loops, UnrollWithoutADifference) {
  Array xs = reshape(arange(33, {.dtype = f32}), {11, 3});
  auto step = [](std::pair<Array, Array> carry, Array x) {
    Array next = carry.first * 0.5 + x;
    return std::pair(std::pair(next, carry.second + 1), std::pair(next * 2, x[0]));
  };
  for (bool reverse : {false, true}) {
    std::vector<std::vector<float>> first;
    for (int64_t unroll : {1, 2, 3, 4, 11, 40}) {
      auto run = [&](Array all) {
        return scan(step, std::pair(zeros({3}), Array(0.5f)), all,
                    {.reverse = reverse, .unroll = unroll});
      };
      for (const auto& [carry, ys] : {run(xs), jit(run)(xs)}) {
        std::vector<std::vector<float>> got = {
            carry.first.to_vector<float>(), carry.second.to_vector<float>(),
            ys.first.to_vector<float>(), ys.second.to_vector<float>()};
        if (first.empty()) first = got;
        EXPECT_EQ(got, first) << unroll << reverse;
      }
    }
  }
  auto triangle = [](int64_t unroll) {
    return fori_loop(1, 11, [](Array i, Array s) { return s + i; }, Array(0), {.unroll = unroll});
  };
  for (int64_t unroll : {1, 3, 5, 99}) EXPECT_EQ(triangle(unroll).item<int>(), 55) << unroll;
}

TEST(Loops, PromoteWeakStarts) {
  Array xs = array({1.5f, 2.5f});
  auto total = scan([](Array c, Array x) { return std::pair(c + x, None); }, 0, xs).first;
  EXPECT_EQ(type_of(total).text(), "f32[]");
  EXPECT_EQ(total.item<float>(), 4);
  auto [i, v] = while_loop([](std::pair<Array, Array> s) { return s.first < 3; },
                           [&](std::pair<Array, Array> s) {
                             return std::pair(s.first + 1, s.second + xs[0].astype(f64));
                           },
                           std::pair(Array(0), Array(0)));
  EXPECT_EQ(type_of(v).text(), "f64[]");
  EXPECT_EQ(v.item<double>(), 4.5);
}

TEST(Loops, TraceWhatTheyCaptureAndCall) {
  Array outside = array({10, 20});
  auto add = jit([&](Array x, Array y) { return x + y + outside; });
  auto f = jit([&](Array x) {
    Array y = x * 2;
    return fori_loop(
        0, 2,
        [&](Array i, Array v) {
          Array w = add(v, y);
          return fori_loop(
              0, 2, [&](Array j, Array u) { return u + w + i + j; }, v);
        },
        x);
  });
  // v -> v + 2 * (v + y + outside) + 2 * i + 1
  auto by_hand = [](int x, int o) {
    int v = x;
    for (int i = 0; i < 2; ++i) v += 2 * (v + 2 * x + o) + 2 * i + 1;
    return v;
  };
  EXPECT_THAT(f(array({1, 2})).to_vector<int>(), ElementsAre(by_hand(1, 10), by_hand(2, 20)));
  Program program = f.trace(array({1, 2}));
  EXPECT_EQ(program.program()->captures.size(), 1u);
}

TEST(Loops, MayBeGivenTheirBuffers) {
  auto f = jit(
      [](Array x) {
        return fori_loop(
            0, 5, [](Array, Array v) { return v + 1; }, x);
      },
      {.donate = {0}});
  auto product = jit(
      [](Array x, Array w) {
        return fori_loop(
            0, 3, [&](Array, Array v) { return matmul(v, w); }, x);
      },
      {.donate = {0}});
  Array x = ones({64, 64}), w = full({64, 64}, 1.f / 64);
  x = f(x);
  EXPECT_EQ(x.to_vector<float>()[77], 6);
  x = product(x, w);
  EXPECT_NEAR(x.to_vector<float>()[77], 6, 1e-4);
}

// Slices whose size no vector or cache line divides, large enough to be written past the caches.
TEST(Scan, StepsOverLargeOddSlices) {
  SetDeviceCount(2);
  {
    MeshScope scope(make_mesh({{"x", 2}}));
    constexpr int kSize = 2 * 700001;
    auto f = jit([](Array c, Array xs) {
      return scan(
          [](Array c, Array x) {
            return std::pair(c + x, std::pair(reshard(x, P()), -transpose(x.reshape({1, kSize}))));
          },
          c, xs);
    });
    Array xs = reshard(astype(iota({3, kSize}, 1) % 1000 + iota({3, kSize}, 0), f32), P(None, "x"));
    auto [c, y] = f(reshard(zeros({kSize}), P("x")), xs);
    EXPECT_TRUE(all(y.first == reshard(xs, P())).item<bool>());
    EXPECT_TRUE(all(y.second == -xs.reshape({3, kSize, 1})).item<bool>());
    EXPECT_TRUE(all(c == sum(xs, 0)).item<bool>());
  }
  SetDeviceCount(1);
}

struct State {
  Array w;
  std::optional<Array> b;
  int steps = 0;
};
TESSERA_FIELDS(State, w, b, steps);

TEST(Loops, CarryStructs) {
  auto f = jit([](State s) {
    return fori_loop(
        0, 3,
        [](Array i, State s) {
          s.w = s.w + *s.b * i;
          return s;
        },
        s);
  });
  State out = f({array({1, 2}), array({10, 20}), 7});
  EXPECT_THAT(out.w.to_vector<int>(), ElementsAre(31, 62));
  EXPECT_EQ(out.steps, 7);
  EXPECT_THROW(fori_loop(
                   0, 3,
                   [](Array, State s) {
                     ++s.steps;
                     return s;
                   },
                   out),
               TraceError);
}

TEST(Report, CountsTrips) {
  MeshScope scope(abstract_mesh({{"x", 4}}));
  Array x = abstract_array("f32[8@x,16]");
  auto body = [](Array v) { return v + sum(v, 0); };
  auto counted = jit([&](Array v) {
    return fori_loop(
        0, 3,
        [&](Array, Array u) {
          return fori_loop(
              0, 5, [&](Array, Array t) { return body(t); }, u);
        },
        v);
  });
  CommReport report = counted.lower(x).comm();
  EXPECT_EQ(report.count(CommKind::kAllReduce), 15);
  EXPECT_EQ(report.bytes(), 15 * 96);
  EXPECT_FALSE(report.events()[0].repeats);
  auto until =
      jit([&](Array v) { return while_loop([](Array u) { return sum(u) < 1; }, body, v); });
  report = until.lower(x).comm();
  ASSERT_EQ(report.events().size(), 2u);
  EXPECT_TRUE(report.events()[0].repeats);
  EXPECT_EQ(report.events()[0].times, 1);
  EXPECT_THAT(report.text(), testing::HasSubstr("each iteration"));
  CommPolicy none({.rule = CommRule::kForbid});
  EXPECT_THROW(counted.lower(x), ShardingError);
}

TEST(Lowered, CountsLoops) {
  MeshScope scope(abstract_mesh({{"x", 4}}));
  Array x = abstract_array("f32[8@x,16]"), w = abstract_array("f32[16,16]");
  auto once = jit([](Array v, Array w) { return matmul(v, w); });
  auto ten = jit([](Array v, Array w) {
    return fori_loop(
        0, 10, [&](Array, Array u) { return matmul(u, w); }, v);
  });
  int64_t one = once.lower(x, w).flops();
  EXPECT_EQ(ten.lower(x, w).flops(), 10 * one) << "nobody reads the index";
  // Arguments, the result with its other place.
  EXPECT_EQ(once.lower(x, w).peak_bytes(), 128 + 1024 + 128);
  EXPECT_LE(ten.lower(x, w).peak_bytes(), 128 + 1024 + 2 * 128);
  EXPECT_EQ(type_of(ten(x, w)).text(), "f32[8@x,16]");
}

// Outside of traces a loop is traced at each call, and compiled where it computes something new.
TEST(EagerLoops, ComputeWhatTheirBodySaysAtEachCall) {
  SetDeviceCount(1);
  const Array x = ones({3});
  std::vector<int> seen;
  for (int k = 0; k < 6; ++k) {
    const Array y = fori_loop(
        0, 4, [&](Array, Array c) { return c + x * float(k / 2); }, x * k);
    EXPECT_EQ(y.to_vector<float>()[2], static_cast<float>(k + 4 * (k / 2)));
    const Array z = cond(
        array(k % 3 == 0),
        [&](Array a) {
          debug_callback([&seen, k] { seen.push_back(k); }, {});
          return a + 1;
        },
        [](Array a) { return a; }, y);
    EXPECT_EQ(z.to_vector<float>()[0], y.to_vector<float>()[0] + (k % 3 == 0 ? 1 : 0));
  }
  EXPECT_THAT(seen, ElementsAre(0, 3));
}

// Placing barriers took time exponential in the depth.
TEST(DeepLoops, ArePreparedInTimeLinearInTheirDepth) {
  SetDeviceCount(1);
  const int depth = 40;
  const std::function<Array(Array, Array, int)> nest = [&](Array n, Array x, int levels) -> Array {
    if (levels == 0) return x + 1;
    return fori_loop(
        0, n, [=](Array, Array c) { return nest(n, c, levels - 1) * 2; }, x);
  };
  const Array x = zeros({1 << 16});
  const Array y = jit([&](Array n, Array x) { return nest(n, x, depth); })(array(1), x);
  EXPECT_EQ(y.to_vector<float>().back(), std::exp2(static_cast<float>(depth)));
}

}  // namespace
}  // namespace tessera::control_test

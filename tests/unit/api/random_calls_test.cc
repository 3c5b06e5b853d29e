// Random nests of checkpoints, custom rules, loops and branches: first and second derivatives are
// those of the same functions without calls.
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <functional>
#include <random>

#include "fuzz.h"

namespace tessera::random_calls_test {
namespace {

using F = std::function<Array(Array, Array)>;

// A function, and the same with calls in it.
struct Pair {
  F plain, called;
};

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  Pair Make(int depth) {
    if (depth == 0) return Leaf();
    const Pair a = Make(depth - 1), b = Make(depth - 1);
    switch (Pick(7)) {
      case 0:
        return {After(a.plain, b.plain), After(a.called, checkpoint(b.called))};
      case 1:
        return {After(a.plain, b.plain),
                checkpoint(After(a.called, b.called), {.save = Remat::kDots})};
      case 2:
        return {Loop(a.plain, b.plain),
                Loop(checkpoint(a.called),
                     checkpoint(Naming(b.called), {.save = Remat::kNamed, .names = {"a"}}))};
      case 3:
        return {Branch(a.plain, b.plain), Branch(checkpoint(a.called), b.called)};
      case 4:
        return {After(a.plain, b.plain), After(WithJvp(a.called), b.called)};
      case 5:
        return {After(a.plain, b.plain), After(WithVjp(a.called), b.called)};
      default:
        return {After(b.plain, a.plain), jit(checkpoint(After(b.called, a.called)))};
    }
  }

 private:
  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  static F Naming(F f) {
    return [f](Array x, Array y) { return f(named(2 * x, "a") / 2, y); };
  }

  Pair Leaf() {
    static const std::vector<F> leaves = {
        [](Array x, Array y) { return sin(x) * y; },
        [](Array x, Array y) { return tanh(matmul(x, y)) + x; },
        [](Array x, Array y) { return named(x * y, "a") + cos(named(x + y, "b")); },
        [](Array x, Array y) { return softmax(matmul(y, x)) * x; }};
    const F& f = leaves[static_cast<size_t>(Pick(4))];
    return {f, f};
  }
  static F After(F f, F g) {
    return [=](Array x, Array y) { return g(f(x, y), y); };
  }
  static F Loop(F f, F g) {
    return [=](Array x, Array y) {
      auto step = [&](Array c, Array k) { return std::pair(f(c, y) * 0.5, sum(g(c * k, y))); };
      auto [c, ys] = scan(step, x, array({0.5, 1.5}, {.dtype = f64}));
      return c + sum(ys);
    };
  }
  static F Branch(F f, F g) {
    return [=](Array x, Array y) { return cond(sum(x) > 0.3, f, g, x, y); };
  }
  static F WithJvp(F f) {
    using Two = std::tuple<Array, Array>;
    return custom_jvp(f, [f](Two primals, Two tangents) { return jvp(f, primals, tangents); });
  }
  static F WithVjp(F f) {
    return custom_vjp(
        f, [f](Array x, Array y) { return std::pair(f(x, y), std::pair(x, y)); },
        [f](std::pair<Array, Array> kept, Array ct) {
          return vjp(f, std::tuple(kept.first, kept.second)).second(ct);
        });
  }

  std::mt19937 random_;
};

Array Numbers(double a, double b) {
  return sin(a * iota({3, 3}, 0, {.dtype = f64}) + b * iota({3, 3}, 1, {.dtype = f64}));
}
Array First(const F& f) {
  return grad([&](Array x) { return sum(sin(f(x, Numbers(1.5, 1)))); })(Numbers(1, 2));
}
Array Second(const F& f) {
  return grad([&](Array y) {
    auto slope = grad([&](Array x) { return sum(sin(f(x, y))); });
    return sum(slope(Numbers(1, 2)) * cos(y));
  })(Numbers(1.5, 1));
}
void ExpectClose(const Array& got, const Array& want) {
  EXPECT_LT((max(abs(got - want)) / (1 + max(abs(want)))).item<double>(), 1e-9);
}

TEST(RandomCalls, HaveTheDerivativesOfWhatTheyCall) {
  for (int64_t i = 0; i < FuzzCount(25); ++i) {
    SCOPED_TRACE(i);
    const Pair f = Maker(static_cast<uint32_t>(i)).Make(1 + static_cast<int>(i % 3));
    ExpectClose(First(f.called), First(f.plain));
    ExpectClose(Second(f.called), Second(f.plain));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::random_calls_test

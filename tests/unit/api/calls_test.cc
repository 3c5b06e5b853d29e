// checkpoint, custom_jvp and custom_vjp: values, derivatives and saved residuals.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "runtime/arena.h"
#include "unit/api/count.h"

namespace tessera::calls_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

std::vector<double> Values(const Array& x) { return x.astype(f64).to_vector<double>(); }
double Value(const Array& x) { return x.item<double>(); }
Array Number(double x) { return array({x}, {.dtype = f64})[0]; }

// ---- rules --------------------------------------------------------------------------------------

Array Base(Array x, Array y) { return sin(x) * y; }
// Rules that are wrong on purpose, to see that they are used.
auto WithJvp() {
  return custom_jvp(Base, [](std::tuple<Array, Array> primals, std::tuple<Array, Array> tangents) {
    auto [x, y] = primals;
    auto [dx, dy] = tangents;
    return std::pair(Base(x, y), 3 * cos(x) * dx * y + sin(x) * dy * 2);
  });
}
auto WithVjp() {
  return custom_vjp(
      Base, [](Array x, Array y) { return std::pair(Base(x, y), std::tuple(cos(x), sin(x), y)); },
      [](std::tuple<Array, Array, Array> kept, Array ct) {
        auto [c, s, y] = kept;
        return std::tuple(2 * c * ct * y, s * ct);
      });
}
// The results of JAX 0.10 for the same program.
struct Expected {
  double value, dx, dy, second, mixed, loop, of_loop, second_of_loop, branch, second_of_branch;
};
template <class H>
void ExpectAs(const H& h, const Expected& e) {
  const Array x = Number(0.5), y = Number(2);
  EXPECT_NEAR(Value(h(x, y)), e.value, 1e-9);
  EXPECT_NEAR(Value(jit(h)(x, y)), e.value, 1e-9);
  auto [dx, dy] = grad<0, 1>(h)(x, y);
  EXPECT_NEAR(Value(dx), e.dx, 1e-8);
  EXPECT_NEAR(Value(dy), e.dy, 1e-8);
  EXPECT_NEAR(Value(grad(grad(h))(x, y)), e.second, 1e-8);
  EXPECT_NEAR(Value(jit(grad(grad(h)))(x, y)), e.second, 1e-8);
  EXPECT_NEAR(Value(jvp(grad(h), std::tuple(x, y), std::tuple(Number(1), Number(0.5))).second),
              e.mixed, 1e-8);
  auto loop = [&](Array start) {
    auto [c, ys] = scan([&](Array c, Array k) { return std::pair(h(c, k), h(k, c)); }, start,
                        array({1.0, 2.0, 3.0}, {.dtype = f64}));
    return c + sum(ys);
  };
  EXPECT_NEAR(Value(loop(x)), e.loop, 1e-8);
  EXPECT_NEAR(Value(grad(loop)(x)), e.of_loop, 1e-6);
  EXPECT_NEAR(Value(grad(grad(loop))(x)), e.second_of_loop, 1e-5);
  auto branch = [&](Array v) {
    return cond(
        v > 0, [&](Array z) { return h(z, z); }, [](Array z) { return z * z; }, v);
  };
  EXPECT_NEAR(Value(grad(branch)(x)), e.branch, 1e-8);
  EXPECT_NEAR(Value(grad(branch)(-x)), -1, 1e-9);
  EXPECT_NEAR(Value(grad(grad(branch))(x)), e.second_of_branch, 1e-8);
}

TEST(CustomJvp, IsUsedByAllDerivatives) {
  ExpectAs(WithJvp(), {0.958851077208406, 5.26549537, 0.95885108, -2.876553231625218, -1.56017939,
                       3.3782765210275763, 86.58988755599634, -239.52535579352735,
                       2.275224920043965, 3.6687745015455593});
}
TEST(CustomVjp, IsUsedByAllDerivatives) {
  ExpectAs(WithVjp(), {0.958851077208406, 3.51033025, 0.47942554, -1.917702154416812, -1.04011959,
                       3.3782765210275763, 25.883394865686743, -70.77358759593159,
                       1.3570081004945758, 2.1533221470669153});
}

TEST(CustomJvp, RunsForward) {
  auto [value, tangent] =
      jvp(WithJvp(), std::tuple(Number(0.5), Number(2)), std::tuple(Number(1), Number(1)));
  EXPECT_NEAR(Value(tangent), 6.22434645, 1e-8);
  auto [out, linear] = linearize(WithJvp(), std::tuple(Number(0.5), Number(2)));
  EXPECT_NEAR(Value(linear(std::tuple(Number(1), Number(1)))), 6.22434645, 1e-8);
}

TEST(CustomJvp, RulesMayUseOthersOnTangents) {
  auto scaled = custom_jvp([](Array t) { return 5 * t; },
                           [](auto primals, auto tangents) {
                             return std::pair(5 * std::get<0>(primals), 7 * std::get<0>(tangents));
                           });
  auto f = custom_jvp([](Array x) { return x; },
                      [&](auto primals, auto tangents) {
                        return std::pair(std::get<0>(primals), scaled(std::get<0>(tangents)));
                      });
  EXPECT_EQ(Value(grad(f)(Number(1))), 5);
  EXPECT_EQ(Value(grad(checkpoint(f))(Number(1))), 5);
}

struct State {
  Array x;
  int power = 1;
  Array count;
};
TESSERA_FIELDS(State, x, power, count);

// x^power, with twice its derivative. The count is an integer, the power static.
State Power(State s) {
  Array y = s.x;
  for (int i = 1; i < s.power; ++i) y = y * s.x;
  return {y, s.power, s.count + 1};
}
Array Slope(const State& s) { return 2.0f * s.power * Power({s.x, s.power - 1, s.count}).x; }
TEST(CustomJvp, TakesTreesOfAnyLeaves) {
  auto f = custom_jvp(Power, [](std::tuple<State> p, std::tuple<State> t) {
    const auto& [s] = p;
    const auto& [ds] = t;
    EXPECT_EQ(ds.power, 3);
    EXPECT_EQ(ds.count.dtype(), i32);
    return std::pair(Power(s), State{Slope(s) * ds.x, 0, ds.count});
  });
  const State at{array({1.0f, 2.0f}), 3, array({1, 2})};
  auto total = [&](State s) { return sum(f(s).x); };
  EXPECT_THAT(Values(grad(total)(at).x), ElementsAre(6, 24));
  EXPECT_THAT(Values(grad(total)(at).count), ElementsAre(0, 0));
}
TEST(CustomVjp, TakesTreesOfAnyLeaves) {
  auto f = custom_vjp(
      Power, [](State s) { return std::pair(Power(s), std::tuple(s, std::string("note"), 4)); },
      [](std::tuple<State, std::string, int> kept, State ct) {
        const auto& [s, note, four] = kept;
        EXPECT_EQ(note, "note");
        EXPECT_EQ(four, 4);
        EXPECT_EQ(ct.count.dtype(), i32);
        return State{Slope(s) * ct.x, 0, ct.count};
      });
  const State at{array({1.0f, 2.0f}), 3, array({1, 2})};
  auto total = [&](State s) { return sum(f(s).x); };
  EXPECT_THAT(Values(grad(total)(at).x), ElementsAre(6, 24));
  // The whole result; no other part of it has a cotangent.
  auto [out, pullback] = vjp(f, at);
  EXPECT_THAT(Values(pullback({ones({2}), 3, zeros({2}, {.dtype = i32})}).x), ElementsAre(6, 24));
}

TEST(CustomVjp, ResidualsMayBeNothing) {
  auto clip_gradient =
      custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, None); },
                 [](NoneType, Array ct) { return clip(-1.0f, ct, 1.0f); });
  auto f = [&](Array x) { return sum(clip_gradient(x) * array({0.5f, 5.0f, -5.0f})); };
  EXPECT_THAT(Values(grad(f)(ones({3}))), ElementsAre(0.5, 1, -1));
}

TEST(CustomVjp, HasATransposeForward) {
  auto tangent = [](Array t) {
    return jvp(WithVjp(), std::tuple(Number(0.5), Number(2)), std::tuple(t, Number(0))).second;
  };
  EXPECT_NEAR(Value(linear_transpose(tangent, Number(0))(Number(1))), 3.51033025, 1e-8);
}

TEST(CustomVjp, CotangentsOfReducedWeightsAreUnreduced) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"data", 2}}));
  auto product = [](Array x, Array w) { return matmul(x, w); };
  auto f = custom_vjp(
      product, [=](Array x, Array w) { return std::pair(product(x, w), std::pair(x, w)); },
      [](std::pair<Array, Array> kept, Array ct) {
        auto [x, w] = kept;
        Array dw = matmul(transpose(x), ct, {.out_sharding = P().unreduced("data")});
        return std::tuple(matmul(ct, transpose(w)), dw);
      });
  Array x = reshard(iota({4, 3}, 0, {.dtype = f32}), P("data")),
        w = reshard(ones({3, 2}), P().reduced("data"));
  auto loss = [&](Array a, Array b) { return sum(f(a, b)); };
  auto plain = [&](Array a, Array b) { return sum(product(a, b)); };
  EXPECT_EQ(type_of(grad<1>(loss)(x, w)).text(), type_of(grad<1>(plain)(x, w)).text());
  EXPECT_EQ(Values(reshard(grad<1>(loss)(x, w), P())), Values(reshard(grad<1>(plain)(x, w), P())));
  EXPECT_TRUE(jit(grad<1>(loss)).lower(x, w).comm().empty());
}

TEST(Calls, StayInProgramText) {
  auto f = [](Array x) {
    Array a = checkpoint(
        [](Array z) { return named(sin(z), "wave") * named(cos(z), "an \"odd\" one\\\n"); },
        {.save = Remat::kNamed, .names = {"wave", "an \"odd\" one\\\n"}})(x);
    return WithJvp()(a, x) + WithVjp()(x, a);
  };
  const std::string text = jit(f).trace(ones({3})).text();
  EXPECT_THAT(text, testing::HasSubstr("checkpoint %0 {save=named, "
                                       "names=[\"wave\", \"an \\\"odd\\\" one\\\\\\n\"]}"));
  EXPECT_EQ(Program::Parse(text).text(), text);
  EXPECT_THAT(lower(Program::Parse(text)).propagated().text(),
              testing::Not(testing::ContainsRegex("checkpoint|custom|region")));
  auto tangent = [](Array t) {
    return jvp(WithVjp(), std::tuple(ones({3}), ones({3})), std::tuple(t, t)).second;
  };
  const std::string linear = jit(tangent).trace(ones({3})).text();
  EXPECT_THAT(linear, testing::HasSubstr("custom_linear"));
  EXPECT_EQ(Program::Parse(linear).text(), linear);
  EXPECT_THROW(lower(Program::Parse(linear)), TraceError);
}

// ---- checkpoint ---------------------------------------------------------------------------------

const std::vector<CheckpointOptions>& Policies() {
  static const std::vector<CheckpointOptions> all = {
      {}, {.save = Remat::kDots}, {.save = Remat::kNamed, .names = {"h"}}};
  return all;
}

Array Block(Array x, Array w) {
  Array h = named(matmul(x, w), "h");
  return x + tanh(h) * sin(h);
}
Array Start() { return sin(iota({4, 4}, 0, {.dtype = f64}) + iota({4, 4}, 1, {.dtype = f64})); }

TEST(Checkpoint, ChangesNoValues) {
  auto derivatives = [](auto block) {
    auto f = [block](Array w) { return sum(square(block(block(Start(), w), w))); };
    auto second = [f](Array w) { return sum(sin(grad(f)(w))); };
    auto steps = [block](Array w) {
      auto [c, ys] = scan([&](Array c, Array k) { return std::pair(block(c, w * k), sum(c)); },
                          Start(), array({0.5, 1.0, 1.5}, {.dtype = f64}));
      return sum(c) + sum(ys * ys);
    };
    auto branch = [block](Array w) {
      return sum(cond(
          w[{0, 0}] > 0, [&](Array v) { return block(Start(), v); }, [](Array v) { return v * v; },
          w));
    };
    auto around = [block](Array w) {
      return sum(checkpoint([&](Array v) {
        auto step = [&](Array c, NoneType) { return std::pair(block(c, v), sum(c)); };
        auto [c, ys] = scan(step, Start(), None, {.length = 2});
        return c * sum(ys);
      })(w));
    };
    const Array w = 0.1 * Start() + 0.3;
    std::vector<Array> all = {grad(f)(w),
                              jit(grad(f))(w),
                              grad(second)(w),
                              grad(steps)(w),
                              grad([&](Array v) { return sum(cos(grad(steps)(v))); })(w),
                              grad(branch)(w),
                              grad(around)(w),
                              jvp(f, w, w).second,
                              jvp(grad(f), w, w).second};
    return all;
  };
  const std::vector<Array> wanted = derivatives(Block);
  for (const CheckpointOptions& options : Policies()) {
    const std::vector<Array> got = derivatives(checkpoint(Block, options));
    const std::vector<Array> nested =
        derivatives(checkpoint([&](Array x, Array w) { return checkpoint(Block)(x, w); }, options));
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_THAT(Values(got[i]), Pointwise(DoubleNear(1e-9), Values(wanted[i]))) << i;
      EXPECT_THAT(Values(nested[i]), Pointwise(DoubleNear(1e-9), Values(wanted[i]))) << i;
    }
  }
}

// How often the device program of a gradient has these ops.
TEST(Checkpoint, ComputesAgainWhatIsNotSaved) {
  auto of = [](auto block) {
    auto f = [block](Array x, Array w) { return sum(block(x, w)); };
    return jit(value_and_grad<1>(f)).lower(Start(), Start()).device_program().text();
  };
  const std::string plain = of(Block), nothing = of(checkpoint(Block, Policies()[0])),
                    dots = of(checkpoint(Block, Policies()[1])),
                    named = of(checkpoint(Block, Policies()[2]));
  EXPECT_EQ(Count(plain, "= tanh"), 1);
  EXPECT_EQ(Count(plain, "= dot_general"), 2);
  EXPECT_EQ(Count(nothing, "= tanh"), 2) << nothing;
  EXPECT_EQ(Count(nothing, "= dot_general"), 3) << nothing;
  for (const std::string& text : {dots, named}) {
    EXPECT_EQ(Count(text, "= tanh"), 2) << text;
    EXPECT_EQ(Count(text, "= dot_general"), 2) << text;
  }
}

TEST(Checkpoint, OfALoopsBodyLeavesTheCarriesBehind) {
  auto of = [](auto block) {
    auto f = [block](Array x, Array w) {
      return sum(scan([&](Array c, NoneType) { return std::pair(block(c, w), None); }, x, None,
                      {.length = 5})
                     .first);
    };
    return jit(grad<1>(f)).lower(Start(), Start()).propagated().text();
  };
  EXPECT_EQ(Count(of(checkpoint(Block)), "f64[5,4,4]"), 1);
  EXPECT_GT(Count(of(Block), "f64[5,4,4]"), 2);
}

// Saved values of loops and branches are stacked, and passed on.
TEST(Checkpoint, SavesInLoopsAndBranches) {
  const auto block = [](Array x, Array w) {
    const auto step = [&](Array c, Array i) {
      Array h = cond(
          i > 0, [&](Array v) { return 2 * Block(v, w); }, [&](Array v) { return Block(w, v); }, c);
      return std::pair(Block(h, w), h);
    };
    auto [last, all] = scan(step, x, arange(3));
    return last + mean(all, 0);
  };
  auto f = [](auto block) {
    return jit(value_and_grad<0, 1>([block](Array x, Array w) { return sum(block(x, w)); }));
  };
  const auto dots = [&](auto block) {
    return Count(f(block).lower(Start(), Start()).device_program().text(), "= dot_general");
  };
  const auto [value, gradients] = f(block)(Start(), Start());
  for (const CheckpointOptions& policy : Policies()) {
    const auto saving = checkpoint(block, policy);
    EXPECT_EQ(dots(saving), dots(block) + (policy.save == Remat::kNothing ? 3 : 0));
    const auto [same, got] = f(saving)(Start(), Start());
    EXPECT_EQ(Values(same), Values(value));
    EXPECT_THAT(Values(std::get<0>(got)),
                Pointwise(DoubleNear(1e-9), Values(std::get<0>(gradients))));
    EXPECT_THAT(Values(std::get<1>(got)),
                Pointwise(DoubleNear(1e-9), Values(std::get<1>(gradients))));
  }
}

// ---- memory -------------------------------------------------------------------------------------

struct Layer {
  Array up, down;
};
TESSERA_FIELDS(Layer, up, down);

Array Wide(Array x, Layer w) {
  Array mean_of = mean(x, -1, {.keepdims = true});
  Array h = named(matmul(x - mean_of, w.up), "h");
  return x + matmul(gelu(h) * tanh(h), w.down);
}

constexpr int64_t kRows = 1024, kWidth = 64, kInner = 256;
auto Stack(std::optional<CheckpointOptions> options) {
  return jit(grad([options](std::vector<Layer> layers, Array x) {
    for (const Layer& w : layers) x = options ? checkpoint(Wide, *options)(x, w) : Wide(x, w);
    return sum(x * x);
  }));
}

TEST(Checkpoint, MeansLessMemory) {
  const std::vector<Layer> layers(8, {0.01f * ones({kWidth, kInner}), ones({kInner, kWidth})});
  const Array x = ones({kRows, kWidth});
  auto peak = [&](std::optional<CheckpointOptions> options) {
    return static_cast<double>(Stack(options).lower(layers, x).peak_bytes());
  };
  const double all = peak({}), nothing = peak(Policies()[0]), dots = peak(Policies()[1]),
               named = peak(Policies()[2]);
  RecordProperty("peaks", std::to_string(all) + " " + std::to_string(nothing) + " " +
                              std::to_string(dots) + " " + std::to_string(named));
  EXPECT_LE(nothing, 0.5 * all);
  EXPECT_GT(named, 1.2 * nothing);
  EXPECT_LE(named, 0.9 * all);
  EXPECT_GE(dots, named);
  EXPECT_LE(dots, 0.9 * all);
}

// In a process of its own, whose arena has no memory that other tests have freed.
TEST(CheckpointDeathTest, MeansLessMemoryInTheArena) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    const std::vector<Layer> layers(8, {0.01f * ones({kWidth, kInner}), ones({kInner, kWidth})});
    const Array x = ones({kRows, kWidth});
    const auto more = [&](auto f) {
      runtime::Arena& arena = runtime::Arena::Get();
      const int64_t before = arena.reserved();
      const std::vector<Layer> made = f(layers, x);
      if (!(sum(made[0].up * 0 + 1).item<float>() > 0)) std::exit(2);
      return arena.reserved() - before;
    };
    const int64_t nothing = more(Stack(CheckpointOptions{})), rest = more(Stack({}));
    std::exit(nothing > 0 && rest >= nothing ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// ---- layouts ------------------------------------------------------------------------------------

TEST(Checkpoint, HoldsOverExplicitAndAutoAxes) {
  SetDeviceCount(4);
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto}) {
    MeshScope scope(make_mesh({{"data", 2}, {"model", 2}}, {.mode = mode}));
    auto of = [](auto block) {
      return jit(grad<1>([block](Array x, Array w) {
        for (int i = 0; i < 3; ++i) x = block(x, w);
        return sum(x);
      }));
    };
    Array x = Start(), w = 0.1 * Start();
    if (mode == AxisMode::Explicit)
      x = reshard(x, P("data"));
    else
      x = with_sharding_constraint(x, P("data"));
    const Array want = of(Block)(x, w);
    for (const CheckpointOptions& options : Policies()) {
      auto f = of(checkpoint(Block, options));
      EXPECT_EQ(type_of(f(x, w)).text(), type_of(want).text());
      EXPECT_THAT(Values(f(x, w)), Pointwise(DoubleNear(1e-12), Values(want)));
      EXPECT_EQ(f.lower(x, w).comm().bytes(), of(Block).lower(x, w).comm().bytes());
    }
  }
}

// ---- transposes ---------------------------------------------------------------------------------

TEST(LinearTranspose, OfLinearFunctions) {
  Array w = iota({3, 2}, 0, {.dtype = f32});
  auto f = [&](Array x, Array scale) {
    return std::pair(matmul(x, w) * 2, cumsum(x, 0) * scale.astype(f32));
  };
  auto transposed = linear_transpose(f, std::tuple(ones({4, 3}), Array(3)));
  auto [ct, of_scale] = transposed(std::pair(ones({4, 2}), zeros({4, 3})));
  EXPECT_THAT(Values(ct), ElementsAre(0, 4, 8, 0, 4, 8, 0, 4, 8, 0, 4, 8));
  EXPECT_EQ(of_scale.dtype(), i32);
  auto moved = linear_transpose(
      [](Array x) {
        return pad(x, {{1, 2, 0}});
      },
      abstract_array("f32[3]"));
  EXPECT_THAT(Values(moved(array({1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}))), ElementsAre(2, 3, 4));
  auto inside = jit([&](Array ct_of) {
    return linear_transpose([&](Array x) { return sum(x * w, 1); }, w)(ct_of);
  });
  EXPECT_THAT(Values(inside(ones({3}))), ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(LinearMaps, AreCompiledOnce) {
  auto [out, pullback] = vjp([](Array x) { return sin(x) * x; }, ones({4}));
  const Array first = pullback(ones({4}));
  EXPECT_EQ(Values(pullback(ones({4}))), Values(first));
  ReplicaSharing(false);
  EXPECT_EQ(Values(pullback(ones({4}))), Values(first));
  ReplicaSharing(true);
}

TEST(LinearMaps, OverAutoAxesKnowWhereResidualsLie) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"data", 4, Auto}}));
  Array x = with_sharding_constraint(Start(), P("data"));
  auto f = [](Array v) { return sin(matmul(v, v)); };
  const std::vector<double> plain = Values(jit([&](Array v) {
    return vjp(f, v).second(ones({4, 4}, {.dtype = f64}));
  })(x));
  EXPECT_THAT(Values(vjp(f, x).second(ones({4, 4}, {.dtype = f64}))),
              Pointwise(DoubleNear(1e-12), plain));
}

// ---- tests of derivatives -----------------------------------------------------------------------

TEST(CheckGrads, AcceptsWhatIsRight) {
  check_grads([](Array x, Array y) { return tanh(matmul(x, y)) + x; },
              std::tuple(ones({2, 2}) * 0.3f, iota({2, 2}, 0, {.dtype = f32})));
  check_grads([](State s) { return Power(s); }, State{array({0.5f, 2.0f}), 3, array({1, 2})});
  // In one direction, where there is no other.
  check_grads(
      [](Array x) {
        return while_loop([](Array v) { return v < 9.0; }, [](Array v) { return v * v; }, x);
      },
      Array(1.5));
  auto right = custom_vjp(
      Base, [](Array x, Array y) { return std::pair(Base(x, y), std::pair(x, y)); },
      [](std::pair<Array, Array> kept, Array ct) {
        auto [x, y] = kept;
        return std::tuple(cos(x) * y * ct, sin(x) * ct);
      });
  check_grads(right, std::tuple(Number(0.5), Number(2)));
}

std::string Refused(const std::function<void()>& f) {
  try {
    f();
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "";
}

TEST(CheckGrads, NamesTheArgument) {
  EXPECT_THAT(Refused([] { check_grads(WithVjp(), std::tuple(Number(0.5), Number(2))); }),
              testing::ContainsRegex(
                  "first derivative with respect to argument 0 is .*, but finite differences"));
  // Its first derivative is right, but the second is not.
  auto second = custom_jvp([](Array x) { return x * x; },
                           [](auto p, auto t) {
                             auto [x] = p;
                             return std::pair(x * x, 2 * stop_gradient(x) * std::get<0>(t));
                           });
  EXPECT_THAT(Refused([&] { check_grads(second, Number(0.5)); }),
              testing::HasSubstr("second derivative with respect to argument 0 is 0"));
  check_grads(second, Number(0.5), {.order = 1});
}

// With a current mesh, on which the arguments are sharded.
TEST(CheckSpmdGrads, BringsArgumentsOver) {
  SetDeviceCount(8);
  const Mesh mesh = make_mesh({{"x", 4}, {"y", 2}}), other = make_mesh({{"x", 2}});
  MeshScope scope(mesh);
  const auto f = [](Array w, Array i) {
    return sum(square(take(w, i, 0, {.out_sharding = P(None, None)})));
  };
  const auto args = [](Array w) { return std::tuple(w, array({1, 0, 1})); };
  check_spmd_grads(f, args(ones({4, 4})), {mesh, other});
  check_spmd_grads(f, args(reshard(ones({4, 4}), P("x", None))), {mesh});
}

TEST(CheckSpmdGrads, NamesTheFactor) {
  SetDeviceCount(4);
  const std::vector<Mesh> meshes = {make_mesh({{"x", 2}}), make_mesh({{"x", 4}})};
  const auto args = std::tuple(iota({8, 4}, 0, {.dtype = f32}) * 0.1f, ones({4, 2}));
  auto f = [](Array x, Array w) { return tanh(matmul(reshard(x, P("x")), w)); };
  check_spmd_grads(f, args, meshes);
  check_spmd_grads([](Array x, Array w) { return sum(sin(matmul(x, w))); }, args, meshes,
                   {.in_shardings = {P("x"), P()}});
  // A cotangent that is summed over devices once too often.
  auto twice = custom_vjp(
      [](Array w) { return w; }, [](Array w) { return std::pair(w, None); },
      [](NoneType, Array ct) { return ct * static_cast<double>(current_mesh().axis_size("x")); });
  const std::string text = Refused([&] {
    check_spmd_grads([&](Array x, Array w) { return sum(matmul(x, twice(w))); }, args, meshes);
  });
  EXPECT_THAT(text, testing::HasSubstr("the gradient with respect to argument 1"));
  EXPECT_THAT(text, testing::HasSubstr("every element is 2 times"));
}

}  // namespace
}  // namespace tessera::calls_test

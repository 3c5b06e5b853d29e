// grad, jvp, vjp and linearize: values, communication and the programs of gradients.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>
#include <sstream>
#include <tuple>

#include "unit/api/count.h"

namespace tessera::gradients_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<float> Values(const Array& x) { return x.to_vector<float>(); }
Array Cube(Array x) { return x * x * x; }

struct Params {
  Array w, b;
  int steps = 0;
};
TESSERA_FIELDS(Params, w, b, steps);
Array Loss(const Params& p, Array x, Array y) {
  return mean(square(tanh(matmul(x, p.w) + p.b) - y));
}

TEST(Gradients, NestToAnyDepth) {
  EXPECT_EQ(grad(Cube)(2.0).item<float>(), 12);
  EXPECT_EQ(grad(grad(Cube))(2.0).item<float>(), 12);
  EXPECT_EQ(grad(grad(grad(Cube)))(2.0).item<float>(), 6);
  EXPECT_EQ(jit(grad(grad([](Array x) { return exp(2 * x); })))(0.0).item<float>(), 4);
}

TEST(Gradients, HaveTheTreeOfTheArgument) {
  Params p{iota({3, 2}, 0, {.dtype = f32}), ones({2}), 3};
  Array x = iota({4, 3}, 1, {.dtype = f32}) * 0.1, y = ones({4, 2});
  auto [value, g] = value_and_grad(Loss)(p, x, y);
  EXPECT_EQ(value.item<float>(), Loss(p, x, y).item<float>());
  EXPECT_EQ(type_of(g.w).text(), "f32[3,2]");
  EXPECT_EQ(g.steps, 3);
  auto [gx, gy] = grad<1, 2>(Loss)(p, x, y);
  EXPECT_EQ(type_of(gx).text(), "f32[4,3]");
  const float h = 1e-2f;
  EXPECT_NEAR(sum(gy).item<float>(),
              (Loss(p, x, y + h) - Loss(p, x, y - h)).item<float>() / (2 * h), 1e-3);
}

TEST(Gradients, AuxiliaryResultsComeAlong) {
  auto f = [](Array x) { return std::pair(sum(x * x), x + 1); };
  auto [g, aux] = grad(f)(array({1.0f, 2.0f}));
  EXPECT_THAT(Values(g), ElementsAre(2, 4));
  EXPECT_THAT(Values(aux), ElementsAre(2, 3));
  auto [both, same] = value_and_grad(f)(array({1.0f, 2.0f}));
  EXPECT_EQ(both.first.item<float>(), 5);
  EXPECT_THAT(Values(same), ElementsAre(2, 4));
}

TEST(Gradients, OfLeavesThatAreNoFloatsAreZeros) {
  auto f = [](std::pair<Array, Array> p) { return sum(p.first * p.second.astype(f32)); };
  auto g = grad(f)(std::pair(array({1.0f, 2.0f}), array({3, 4})));
  EXPECT_THAT(Values(g.first), ElementsAre(3, 4));
  EXPECT_EQ(g.second.to_vector<int>(), std::vector<int>({0, 0}));
}

TEST(Gradients, StopWhereTheyAreTold) {
  auto f = [](Array x) { return x * stop_gradient(x); };
  EXPECT_EQ(grad(f)(3.0).item<float>(), 3);
}

TEST(Gradients, FlowThroughLoopsAndBranches) {
  Array xs = iota({4, 3}, 0, {.dtype = f32});
  auto step = [](Array c, Array x) {
    Array next = 0.9f * c + sin(x) * c;
    return std::pair(next, next * x);
  };
  auto looped = [&](Array c) {
    auto [last, ys] = scan(step, c, xs);
    return sum(last) + sum(ys * ys);
  };
  auto unrolled = [&](Array c) {
    Array total = zeros({});
    for (int i = 0; i < 4; ++i) {
      auto [next, y] = step(c, xs[i]);
      c = next;
      total = total + sum(y * y);
    }
    return sum(c) + total;
  };
  EXPECT_THAT(Values(grad(looped)(ones({3}))),
              Pointwise(FloatNear(1e-3f), Values(grad(unrolled)(ones({3})))));
  EXPECT_THAT(Values(grad([&](Array c) { return sum(grad(looped)(c)); })(ones({3}))),
              Pointwise(FloatNear(1e-2f),
                        Values(grad([&](Array c) { return sum(grad(unrolled)(c)); })(ones({3})))));
  auto branch = [](Array x) {
    return cond(
        x > 0.f, [](Array z) { return z * z; }, [](Array z) { return sin(z); }, x);
  };
  EXPECT_EQ(grad(branch)(2.0).item<float>(), 4);
  EXPECT_FLOAT_EQ(grad(branch)(-2.0).item<float>(), std::cos(-2.0f));
  auto loop = [](Array x) {
    return while_loop([](Array v) { return v < 100.f; }, [](Array v) { return v * v; }, x);
  };
  auto [value, tangent] = jvp(loop, Array(3.0f), Array(1.0f));
  EXPECT_EQ(value.item<float>(), 6561);
  EXPECT_EQ(tangent.item<float>(), 8 * 2187);
}

TEST(Gradients, OfWhatALoopCapturesAreSums) {
  Array xs = array({1.0f, 2.0f, 3.0f});
  auto f = [&](Array w) {
    return scan([&](Array c, Array x) { return std::pair(c + w * x, None); }, zeros({}), xs).first;
  };
  EXPECT_EQ(grad(f)(5.0).item<float>(), 6);
}

// Values that a body computes only from captured arrays are computed once, before the loop.
TEST(Gradients, StackOnlyWhatVaries) {
  auto f = [](Array w, Array x) {
    auto body = [&](Array c, NoneType) { return std::pair(c * sin(w), None); };
    return sum(scan(body, x, None, {.length = 5}).first);
  };
  const std::string text = grad<0>(f).trace(ones({3}), ones({3})).text();
  // The carries alone are stacked: not sin(w), nor cos(w), which the body does not even compute.
  EXPECT_THAT(text, testing::ContainsRegex("%4: f32\\[3\\], %5: f32\\[5,3\\] = scan"));
  EXPECT_EQ(Count(text, "f32[5,3]"), 1) << text;
  EXPECT_EQ(Count(text, "= cos"), 1) << text;
  EXPECT_FLOAT_EQ(Values(grad<0>(f)(ones({3}), ones({3})))[0],
                  static_cast<float>(5 * std::pow(std::sin(1.0), 4) * std::cos(1.0)));
}

TEST(LinearMaps, RunTheFunctionOnce) {
  auto f = [](Array a, Array b) { return a * sin(b); };
  auto arguments = std::tuple(Array(2.0f), Array(3.0f));
  auto [out, pullback] = vjp(f, arguments);
  auto [ga, gb] = pullback(Array(1.0f));
  EXPECT_FLOAT_EQ(ga.item<float>(), std::sin(3.0f));
  EXPECT_FLOAT_EQ(gb.item<float>(), 2 * std::cos(3.0f));
  auto [same, tangent] = linearize(f, arguments);
  EXPECT_FLOAT_EQ(tangent(std::tuple(Array(1.0f), Array(0.5f))).item<float>(),
                  std::sin(3.0f) + std::cos(3.0f));
  auto [value, direction] = jvp(f, arguments, std::tuple(Array(1.0f), Array(0.5f)));
  EXPECT_EQ(direction.item<float>(), tangent(std::tuple(Array(1.0f), Array(0.5f))).item<float>());
}

TEST(Gradients, ComputeOnlyWhatTheyNeed) {
  Program p = grad([](Array x) { return sum(sin(x)); }).trace(ones({4}));
  std::vector<std::string> ops;
  std::istringstream lines(p.text());
  for (std::string line; std::getline(lines, line);)
    if (size_t at = line.find(" = "); at != std::string::npos)
      ops.push_back(line.substr(at + 3, line.find(' ', at + 3) - at - 3));
  EXPECT_THAT(ops, ElementsAre("cos", "constant", "broadcast_in_dim", "mul"));
}

// A weight's gradient is computed in the layout of the weight, without a copy.
TEST(Gradients, OfMatricesAreProductsAlone) {
  auto loss = [](Array w, Array x) { return sum(square(matmul(x, w))); };
  const std::string text = grad<0, 1>(loss).trace(ones({4, 3}), ones({5, 4})).text();
  EXPECT_EQ(Count(text, "= transpose"), 0) << text;
}

TEST(Gradients, LieAsTheirArgumentsAndSendSumsOnly) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 4}, {"model", 2}}));
  auto loss = [](Array w, Array x) { return sum(square(matmul(x, w))); };
  Array w = reshard(ones({8, 16}), P(None, "model")), x = reshard(ones({32, 8}), P("data", None));
  auto step = jit(grad(loss));
  EXPECT_EQ(type_of(step(w, x)).text(), "f32[8,16@model]");
  EXPECT_EQ(step.lower(w, x).comm().count(CommKind::kAllReduce, "data"), 1);
  EXPECT_EQ(step.lower(w, x).comm().events().size(), 1u);
  // Of reduced weights the gradients stay partial: nothing is sent.
  Array reduced = reshard(w, P(None, "model").reduced("data"));
  EXPECT_EQ(type_of(step(reduced, x)).text(), "f32[8,16@model]{U:data}");
  EXPECT_EQ(step.lower(reduced, x).comm().events().size(), 0u);
}

// The gradients of a value that is used more than once are added first, and then reduced.
TEST(Gradients, OfAWeightUsedTwiceAreReducedOnce) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 4}, {"model", 2}}));
  auto loss = [](Array w, Array x) {
    return sum(tanh(matmul(tanh(matmul(tanh(matmul(x, w)), w)), w)));
  };
  const Array w = reshard(iota({8, 8}, 0, {.dtype = f32}) * 0.01, P(None, None)),
              x = reshard(ones({32, 8}), P("data", None));
  auto step = jit(grad(loss));
  EXPECT_EQ(step.lower(w, x).comm().count(CommKind::kAllReduce, "data"), 1);
  EXPECT_EQ(step.lower(w, x).comm().events().size(), 1u);
  const Array g = step(w, x);
  MeshScope one(make_mesh({{"data", 1}, {"model", 1}}));
  EXPECT_THAT(
      Values(g),
      Pointwise(FloatNear(1e-4f),
                Values(grad(loss)(array(Values(w), {.shape = Shape({8, 8})}), ones({32, 8})))));
  // Both as they are scattered.
  MeshScope again(make_mesh({{"data", 4}}));
  auto both = jit([](Array a, Array b) {
    return matmul(a, b, {.out_sharding = P("data", None)}) +
           matmul(a + 1, b, {.out_sharding = P("data", None)});
  });
  const Array a = reshard(ones({8, 16}), P(None, "data")),
              b = reshard(ones({16, 8}), P("data", None));
  EXPECT_EQ(both.lower(a, b).comm().count(CommKind::kReduceScatter, "data"), 1);
  EXPECT_THAT(Values(both(a, b)), testing::Each(48));
}

// Attention keeps its weights, and needs room for two more of their size: the derivative of softmax
// is by its result, and the largest logit counts as a constant.
TEST(Gradients, OfAttentionKeepTheWeightsAlone) {
  const auto attention = [](Array q, Array k, Array v) {
    return sum(square(matmul(softmax(matmul(q, k.T()) * 0.1f), v)));
  };
  const Array q = ones({1024, 16});
  EXPECT_LE(static_cast<double>(jit(grad<0, 1, 2>(attention)).lower(q, q, q).peak_bytes()),
            3.1 * 1024 * 1024 * 4);
  for (const auto& f : {+[](Array x) { return sum(logsumexp(x, -1)); },
                        +[](Array x) { return sum(square(log_softmax(x, -1))); }}) {
    const std::string text = jit(grad(f)).trace(ones({4, 8})).text();
    EXPECT_EQ(Count(text, "= eq "), 0) << "of the max\n" << text;
  }
  check_grads([](Array x) { return softmax(x) * x; }, iota({2, 3}, 1, {.dtype = f32}),
              {.order = 2});
}

// Outside values that a branch reads are read again in the derivative. Branches do not return them,
// and loops do not stack them.
TEST(Gradients, StackNoOperandsOfBranches) {
  auto f = [](Array x, Array w) {
    auto body = [&](Array i, Array v) {
      return cond(
          i < 4, [&](Array u) { return sin(matmul(u, w)); }, [](Array u) { return u; }, v);
    };
    return sum(fori_loop(0, 8, body, x));
  };
  const std::string text = grad(f).trace(ones({2, 3}), ones({3, 3})).text();
  EXPECT_EQ(Count(text, "f32[8,3,3]"), 0) << text;
  EXPECT_EQ(Count(text, "f32[8,2,3]"), 1) << text;  // cosines
}

TEST(Gradients, LeaveWeakValuesOfLoopsAndBranchesWeak) {
  auto f = [](Array x) {
    return fori_loop(
        0, 2, [](Array, Array v) { return v * 2; }, x);
  };
  const Array x(2.0), b = ones({2}, bf16);
  EXPECT_EQ(type_of(jvp(f, x, Array(1.0)).first * b).text(), "bf16[2]");
  EXPECT_EQ(type_of(value_and_grad(f)(x).first * b).text(), "bf16[2]");
}

// The values that decide the trip count of a loop have no derivative, and need none.
TEST(Gradients, ForwardThroughALoopWhoseConditionHasNone) {
  auto f = [](Array x) {
    return while_loop([](Array v) { return nextafter(v, Array(1e9f)) < 100; },
                      [](Array v) { return v * v; }, x);
  };
  EXPECT_EQ(jvp(f, Array(3.0f), Array(1.0f)).second.item<float>(), 8 * 2187);
}

// Numbers and slices name each element once, so that its factor has a derivative.
// Powers of x up to more than a limit: a loop that nobody can run backward.
Array Doubled(Array x, Array limit) {
  return while_loop([=](Array s) { return s < limit; }, [=](Array s) { return s * x; }, x);
}

TEST(Gradients, ForwardThroughWhileLoops) {
  const auto f = [](Array x) { return Doubled(x, 10.0f); };  // x^4
  const Array x = 2.0f, one = 1.0f;
  EXPECT_EQ(jvp(f, x, one).second.item<float>(), 32);
  EXPECT_EQ(linearize(f, x).first.item<float>(), 16);
  EXPECT_EQ(linearize(f, x).second(one).item<float>(), 32);
  EXPECT_EQ(jacfwd(f)(x).item<float>(), 32);
  EXPECT_EQ(jacfwd(jacfwd(f))(x).item<float>(), 48);
  EXPECT_THAT(Values(vmap(jacfwd(f))(array({2.0f, 3.0f}))), ElementsAre(32, 27));
  const auto in_scan = [](Array x) {
    return scan([](Array c, Array v) { return std::pair(c + Doubled(v, 10.0f), v); }, x,
                stack(std::vector<Array>{x, 2 * x}))
        .first;
  };
  EXPECT_EQ(jacfwd(in_scan)(x).item<float>(), 1 + 32 + 2 * 2 * 4);
}

TEST(Gradients, OfWhatDoesNotNeedTheDerivativeOfALoop) {
  const Array x = 2.0f;
  EXPECT_EQ(grad([](Array x) { return x * stop_gradient(Doubled(x, 10.0f)); })(x).item<float>(),
            16);
  EXPECT_EQ(grad([](Array x) { return Doubled(x, 10.0f), x * x; })(x).item<float>(), 4);
  const auto [g, aux] = grad([](Array x) { return std::pair(x * x, Doubled(x, 10.0f)); })(x);
  EXPECT_EQ(g.item<float>(), 4);
  EXPECT_EQ(aux.item<float>(), 16);
  // Of a pair that is carried, one is read.
  const auto one_of_two = [](Array x) {
    return scan(
               [](std::pair<Array, Array> c, Array v) {
                 return std::pair(std::pair(c.first * v, Doubled(c.second, v)), c.second);
               },
               std::pair(x, x), ones({3}))
        .first.first;
  };
  EXPECT_EQ(grad(one_of_two)(x).item<float>(), 1);
}

// Results of a loop that nobody reads are not computed: neither stacked nor carried.
TEST(Gradients, ComputeNoResultsOfLoopsThatNobodyReads) {
  const auto f = [](Array x) {
    return sum(
        scan([](Array c, Array v) { return std::pair(c * v, exp(c) + log(v)); }, x, full({3}, 2.0))
            .first);
  };
  const std::string text = jit(grad(f)).trace(ones({4})).text();
  EXPECT_EQ(Count(text, "exp"), 0) << text;
  EXPECT_EQ(Count(text, "log"), 0) << text;
  EXPECT_EQ(Count(text, "[3,4]"), 0) << text;
  EXPECT_EQ(Count(text, "scan"), 1) << "the value of a linear loop is not read either\n" << text;
  const std::string lowered = jit(f).lower(ones({4})).device_program().text();
  EXPECT_EQ(Count(lowered, "exp"), 0) << lowered;
}

TEST(Gradients, OfWhatNamedElementsAreMultipliedBy) {
  auto f = [](Array v, Array x) { return sum(x.at({1, Slice(0, 2)}).multiply(v)); };
  EXPECT_THAT(Values(grad(f)(ones({2}), array({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}}))),
              ElementsAre(4, 5));
}

// After any op on a reduced array its gradient is a partial sum, and so is its second derivative.
TEST(Gradients, OfReducedArraysAreUnreduced) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array start = linspace(0.5, 2.0, 8, {.dtype = f64}), mask = start > 1.0;
  using Function = std::function<Array(Array, Array)>;
  const std::pair<const char*, Function> functions[] = {
      {"where", [&](Array v, Array b) { return where(mask, v, b); }},
      {"where 0", [&](Array v, Array) { return where(mask, v, 0.0); }},
      {"relu", [](Array v, Array b) { return relu(v - b); }},
      {"clip", [](Array v, Array) { return clip(v, 0.0, 1.1); }},
      {"maximum", [](Array v, Array b) { return maximum(v, b); }},
      {"softplus", [](Array v, Array) { return softplus(v); }},
      {"gelu", [](Array v, Array) { return gelu(v); }},
      {"sqrt", [](Array v, Array) { return sqrt(v); }},
      {"pow", [](Array v, Array) { return pow(v, 2.0); }},
      {"erf", [](Array v, Array) { return erf(v); }},
      {"logaddexp", [](Array v, Array b) { return logaddexp(v, b); }},
      {"logsumexp", [](Array v, Array) { return logsumexp(v, 0); }},
      {"softmax", [](Array v, Array) { return softmax(v, 0); }},
      {"layer_norm", [](Array v, Array b) { return layer_norm(v, b, b, -1); }},
      {"var", [](Array v, Array) { return var(v); }},
      {"norm", [](Array v, Array) { return norm(v); }}};
  for (const auto& [name, f] : functions) {
    SCOPED_TRACE(name);
    const auto gradients = [&f = f](Array v) {
      const Array b = 1.3 - v * 0.5;
      const auto loss = [&](Array x) { return sum(f(x, b) * x); };
      const auto second = [&](Array x) { return sum(grad(loss)(x) * b); };
      return std::vector{grad(loss)(v), grad(second)(v)};
    };
    const std::vector<Array> want = gradients(start),
                             got = gradients(reshard(start, P().reduced("x")));
    for (size_t order : {0, 1}) {
      EXPECT_EQ(type_of(got[order]).text(), "f64[8]{U:x}");
      EXPECT_TRUE(allclose(reshard(got[order], P()), want[order]).item<bool>()) << order;
    }
  }
}

// Each device uses the whole parameter with its own rows. The forward pass sends nothing, the
// gradient stays a partial sum, and the reshard that asks for the sum is the only all_reduce.
TEST(Gradients, OfReducedParametersBesideShardedRowsSendNothing) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const auto rows = [](double first) { return sin(linspace(first, 4.0, 48)).reshape({8, 6}); };
  using Function = std::function<Array(Array, Array)>;
  struct Case {
    const char* name;
    Function f;  // of rows [8@x,6] and a parameter
    Array parameter;
  };
  const Array vector = linspace(0.5, 1.5, 6), matrix = rows(0.3);
  const auto layer = [](Array c, Array b) { return sin(c) * b + b; };
  const Case cases[] = {
      {"bias", [](Array x, Array b) { return x + b; }, vector},
      {"bias on the left", [](Array x, Array b) { return b - sin(x); }, vector},
      {"gain", [](Array x, Array b) { return x * (1 + b); }, vector},
      {"scale", [](Array x, Array b) { return x / exp(1.0) * b; }, array(1.5f)},
      {"numerator", [](Array x, Array b) { return b / (2 + x); }, vector},
      {"repeated",
       [](Array x, Array b) {
         return x + broadcast_to(b, {8, 6});
       },
       vector},
      {"of each row", [](Array x, Array b) { return x * b; }, matrix},
      {"a column",
       [](Array x, Array b) {
         return x * b[{All, Slice(0, 1)}];
       },
       matrix},
      {"where", [](Array x, Array b) { return where(x > 0.2, x, b); }, vector},
      {"concatenate",
       [](Array x, Array b) {
         return sin(concatenate({x, b}, 1));
       },
       matrix},
      {"layer_norm", [](Array x, Array b) { return layer_norm(x, b, b * 0.5, -1); }, vector},
      {"rms_norm",
       [](Array x, Array b) { return x * rsqrt(mean(x * x, -1, {.keepdims = true})) * b; }, vector},
      {"twice", [](Array x, Array b) { return sin(x + b) * b; }, vector},
      {"a loop",
       [&](Array x, Array b) {
         return fori_loop(
             0, 3, [&](Array, Array c) { return layer(c, b); }, x);
       },
       vector},
      {"a scan of checkpoints",
       [&](Array x, Array b) {
         return scan(checkpoint([&](Array c, Array s) { return std::pair(layer(c, b) * s, None); }),
                     x, linspace(0.5, 1.0, 3))
             .first;
       },
       vector},
      {"a branch",
       [&](Array x, Array b) {
         return cond(
             sum(b) > 0.f, [&] { return layer(x, b); }, [&] { return x - b; });
       },
       vector},
      {"lanes",
       [&](Array x, Array b) {
         return vmap([&](Array column) { return column * b[{0}] + b[{1}]; },
                     {.in_dims = 1, .out_dims = 1})(x);
       },
       vector},
      {"jit", [&](Array x, Array b) { return jit(layer)(x, b); }, vector},
      {"a tangent",
       [&](Array x, Array b) {
         return jvp([&](Array v) { return layer(x, v); }, b, b * 0.5).second;
       },
       vector},
      {"a gradient",
       [&](Array x, Array b) {
         return grad([&](Array v) { return sum(sin(layer(v, b)) * x); })(x);
       },
       vector},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto loss = [&](Array b, Array x) { return sum(square(c.f(x, b))); };
    const Array x = rows(0.1), b = c.parameter;
    const Array sharded = reshard(x, P("x")), reduced = reshard(b, P().reduced("x"));
    const auto f = jit([&](Array v, Array w) { return c.f(w, v); });
    const auto step = jit(grad(loss));
    const auto all = jit([&](Array v, Array w) { return reshard(grad(loss)(v, w), P()); });
    EXPECT_TRUE(f.lower(reduced, sharded).comm().empty());
    EXPECT_EQ(type_of(f(reduced, sharded)).text(), type_of(f(b, sharded)).text());
    EXPECT_EQ(type_of(step(reduced, sharded)).text(), type_of(reduced).cotangent().text());
    const CommReport sent = all.lower(reduced, sharded).comm();
    EXPECT_EQ(sent.events().size(), 1u) << sent;
    EXPECT_LE(sent.bytes(), 4 * b.size()) << sent;
    EXPECT_TRUE(allclose(all(reduced, sharded), step(b, x), {.rtol = 1e-4}).item<bool>());
  }
}

TEST(Gradients, OfMicroBatchesAreReducedOnceAfterTheLoop) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"data", 8}}));
  auto loss = [](Array w, Array x) { return sum(square(matmul(x, w))); };
  auto step = jit([&](Array w, Array batches) {
    Array weights = reshard(w, P().reduced("data"));
    Array start = reshard(zeros({4, 4}), P().unreduced("data"));
    Array total =
        scan([&](Array g, Array x) { return std::pair(g + grad(loss)(weights, x), None); }, start,
             batches)
            .first;
    return reshard(total, P());
  });
  Array w = ones({4, 4}), batches = reshard(ones({3, 16, 4}), P(None, "data", None));
  Lowered lowered = step.lower(w, batches);
  EXPECT_EQ(lowered.comm().events().size(), 1u);
  EXPECT_EQ(lowered.comm().count(CommKind::kAllReduce, "data"), 1);
  EXPECT_EQ(Values(step(w, batches))[0], 3 * 16 * 2 * 4);
}

TEST(Gradients, LieAsWhatWasMovedDid) {
  SetDeviceCount(2);
  MeshScope mesh(make_mesh({{"x", 2}}));
  auto f = [](Array x) { return sum(square(reshard(x, P()) + x)); };
  Array x = reshard(arange(4, {.dtype = f32}), P("x"));
  Array g = grad(f)(x);
  EXPECT_EQ(type_of(g).text(), "f32[4@x]");
  EXPECT_THAT(Values(g), ElementsAre(0, 8, 16, 24));
  MeshScope automatic(make_mesh({{"x", 2, Auto}}));
  auto constrained = [](Array v) { return sum(square(with_sharding_constraint(v * 2, P("x")))); };
  EXPECT_THAT(Values(jit(grad(constrained))(arange(4, {.dtype = f32}))), ElementsAre(0, 8, 16, 24));
}

TEST(Gradients, CrossRegionsOfAutoAxes) {
  SetDeviceCount(2);
  MeshScope mesh(make_mesh({{"x", 2}}));
  auto inner = auto_axes([](Array v) { return exp(v) * v; }, {.out_sharding = P("x")});
  auto f = [&](Array x) { return sum(inner(x * 2)); };
  Array g = grad(f)(reshard(zeros({4}), P("x")));
  EXPECT_EQ(type_of(g).text(), "f32[4@x]");
  EXPECT_THAT(Values(g), ElementsAre(2, 2, 2, 2));
}

// Each region is transformed once per question, so time grows with depth, not with its power.
TEST(Gradients, OfNestedLoopsTakeLinearTime) {
  std::function<Array(int, Array)> nest = [&](int depth, Array x) {
    if (depth == 0) return x * 1.5f;
    return fori_loop(
        0, 1, [&](Array, Array v) { return nest(depth - 1, v); }, x);
  };
  EXPECT_EQ(
      jvp([&](Array x) { return nest(40, x); }, Array(2.0f), Array(1.0f)).second.item<float>(),
      1.5f);
}

double scale_of_all = 1;
Array weight_of_all;

// Outside of jit, a transformed function reads globals at each call. jit reads them once.
TEST(Gradients, SeeGlobals) {
  const auto f = [](Array x) { return x * scale_of_all * weight_of_all; };
  const auto same = [](Array x) { return x * scale_of_all * weight_of_all; };
  const auto rule = [f](auto primals, auto tangents) {
    return std::pair(f(std::get<0>(primals)), f(std::get<0>(tangents)));
  };
  const Array x = 1.0f, xs = ones({2}), one = 1.0f;
  const auto jitted = jit(grad(f));
  for (const float scale : {1.0f, 5.0f, 5.0f})
    for (const float weight : {1.0f, 3.0f}) {
      scale_of_all = scale;
      weight_of_all = weight;
      const float now = scale * weight;
      EXPECT_EQ(grad(f)(x).item<float>(), now);
      EXPECT_EQ(grad(checkpoint(f))(x).item<float>(), now);
      EXPECT_EQ(grad(custom_jvp(f, rule))(x).item<float>(), now);
      EXPECT_EQ(value_and_grad(f)(x).first.item<float>(), now);
      EXPECT_THAT(Values(vmap(f)(xs)), ElementsAre(now, now));
      EXPECT_THAT(Values(vmap(f, {.out_dims = -1})(xs)), ElementsAre(now, now));
      EXPECT_THAT(Values(vmap(grad(f))(xs)), ElementsAre(now, now));
      EXPECT_EQ(vmap(f, {.in_dims = None, .size = 3})(x).shape()[0], 3);
      EXPECT_EQ(jacrev(f)(x).item<float>(), now);
      EXPECT_EQ(jacfwd(f)(x).item<float>(), now);
      EXPECT_EQ(hessian([](Array v) { return v * v * scale_of_all; })(x).item<float>(), 2 * scale);
      EXPECT_EQ(jvp(f, x, one).second.item<float>(), now);
      EXPECT_EQ(linearize(f, x).second(one).item<float>(), now);
      EXPECT_EQ(vjp(f, x).second(one).item<float>(), now);
      EXPECT_EQ(linear_transpose(f, x)(one).item<float>(), now);
      EXPECT_EQ(eval_shape(f, x).shape().size(), 0u);
      EXPECT_EQ(jitted(x).item<float>(), 1);
      EXPECT_EQ(jit(same)(x).item<float>(), 1);
    }
  weight_of_all = Array();
}

// Transforms of one function without captures share a cache. Its last program is not another's.
TEST(Gradients, WithOtherOptionsAreOtherPrograms) {
  const auto f = [](Array x, Array y) { return x * y * y; };
  const Array x = 2.0f, y = 3.0f;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(grad(f)(x, y).item<float>(), 9);
    EXPECT_EQ(grad<1>(f)(x, y).item<float>(), 12);
    EXPECT_EQ(jacrev<1>(f)(x, y).item<float>(), 12);
    EXPECT_EQ(type_of(vmap(f, {.in_dims = {0, None}})(ones({2}), y)).text(), "f32[2]");
    EXPECT_EQ(type_of(vmap(f, {.in_dims = {None, 0}})(x, ones({3}))).text(), "f32[3]");
  }
}

// Outside of a trace, a transformed function sees the current values of its captures.
TEST(Gradients, SeeWhatTheFunctionCaptures) {
  Array w = 1.0f;
  double scale = 1;
  auto f = [&](Array x) { return w * x * scale; };
  const auto g = grad(f);
  const auto both = value_and_grad(f);
  const auto mapped = vmap(f);
  const auto by_rows = jacrev(f);
  const auto by_columns = jacfwd(f);
  for (const float now : {1.0f, 2.0f, 3.0f}) {
    w = now;
    EXPECT_EQ(g(1.0f).item<float>(), now);
    EXPECT_EQ(both(1.0f).second.item<float>(), now);
    EXPECT_THAT(Values(mapped(ones({2}))), ElementsAre(now, now));
    EXPECT_EQ(by_rows(1.0f).item<float>(), now);
    EXPECT_EQ(by_columns(1.0f).item<float>(), now);
    EXPECT_EQ(jvp(f, Array(1.0f), Array(1.0f)).second.item<float>(), now);
  }
  scale = 2;
  EXPECT_EQ(g(1.0f).item<float>(), 6);
  EXPECT_THAT(Values(mapped(ones({2}))), ElementsAre(6, 6));
}

}  // namespace
}  // namespace tessera::gradients_test

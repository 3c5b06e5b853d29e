// Users' ops take part in typing, propagation and partitioning.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <thread>

namespace tessera::custom_op_test {
namespace {

using testing::HasSubstr;

void Gate(const KernelCall& call) {
  auto x = call.in[0].data<float>(), g = call.in[1].data<float>(), out = call.out[0].data<float>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = g[i] > 0 ? x[i] : 0;
}

void RowMax(const KernelCall& call) {
  auto x = call.in[0].data<float>(), out = call.out[0].data<float>();
  auto n = static_cast<size_t>(call.in[0].shape()[1]);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = *std::max_element(x.begin() + static_cast<long>(i * n),
                               x.begin() + static_cast<long>((i + 1) * n));
}

const CustomOp& GateOp() {
  static const CustomOp op =
      register_op({.name = "test_gate", .rule = "b h, b h -> b h", .kernel = Gate});
  return op;
}
const CustomOp& RowMaxOp() {
  static const CustomOp op =
      register_op({.name = "test_row_max", .rule = "b h -> b reduction=max{h}", .kernel = RowMax});
  return op;
}

class CustomOps : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetDeviceCount(8); }
};

TEST_F(CustomOps, AreTypedByTheirRule) {
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  Array a = abstract_array("f32[8@x,4@y]");
  EXPECT_EQ(type_of(GateOp()({a, a})).text(), "f32[8@x,4@y]");
  EXPECT_EQ(type_of(RowMaxOp()({a})).text(), "f32[8@x]");
  EXPECT_THROW(GateOp()({a, reshard(a, P("y", "x"))}), ShardingError);
  EXPECT_THROW(GateOp()({a, abstract_array("f32[8]")}), ShapeError);
}

TEST_F(CustomOps, ReduceAsTheRuleSays) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  Array a = reshard(arange(32.0).reshape({8, 4}), P("x", "y"));
  auto f = jit([](Array x) {
    return RowMaxOp()({GateOp()({x, x - 12})}, {.out_sharding = P("x")});
  });
  EXPECT_THAT(f(a).to_vector<float>(), testing::ElementsAre(0, 0, 0, 15, 19, 23, 27, 31));
  EXPECT_EQ(f.lower(a).comm().count(CommKind::kAllReduce, "y"), 1);
}

TEST_F(CustomOps, TakePartInPropagation) {
  MeshScope scope(make_mesh({{"x", 2, Auto}, {"y", 4, Auto}}));
  auto f = jit([](Array x) { return GateOp()({with_sharding_constraint(x, P("x", "y")), x}); });
  Array a = arange(32.0).reshape({8, 4});
  EXPECT_EQ(f(a).sharding().text(), "<@mesh, [{\"x\"}, {\"y\"}]>");
}

// A rule with `...` takes any number of leading dims, including the mapped dim of vmap.
void ScaledRows(const KernelCall& call) {
  auto x = call.in[0].data<float>(), w = call.in[1].data<float>(), out = call.out[0].data<float>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = x[i] * w[i % w.size()];
}
TEST_F(CustomOps, TakeMoreDimsInFrontWhereTheRuleSaysSo) {
  static const CustomOp op =
      register_op({.name = "test_scaled_rows", .rule = "... h, h -> ... h", .kernel = ScaledRows});
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  Array x = arange(64.0).reshape({4, 2, 8}), w = arange(8.0);
  EXPECT_EQ(op({x, w}).to_vector<float>(), (x * w).to_vector<float>());
  EXPECT_EQ(type_of(op({w, w})).text(), "f32[8]");
  auto f = [](Array a, Array b) { return op({a, b}); };
  Array lanes = vmap(f, {.in_dims = {0, None}})(reshard(x, P("y", "x")), w);
  EXPECT_EQ(type_of(lanes).text(), "f32[4@y,2@x,8]");
  EXPECT_EQ(reshard(lanes, P()).to_vector<float>(), (x * w).to_vector<float>());
}

// Padding zeros after the end of a dim would be the maximum of negative rows.
TEST_F(CustomOps, AreNotGivenPaddingToReduce) {
  MeshScope scope(make_mesh({{"x", 4, Auto}}));
  auto f = jit([](Array x) { return RowMaxOp()({with_sharding_constraint(x, P(None, "x"))}); });
  Array a = arange(15.0).reshape({3, 5}) - 100;
  EXPECT_THAT(f(a).to_vector<float>(), testing::ElementsAre(-96, -91, -86));
}

// Doubles its operand by array functions, eager and jitted.
void ByArrays(const KernelCall& call) {
  auto in = call.in[0].data<float>(), out = call.out[0].data<float>();
  Array x = array(std::vector<float>(in.begin(), in.end()));
  auto halves = jit([](Array a) { return a * 0.5; });
  std::vector<float> got = (x + halves(x) + halves(x)).to_vector<float>();
  if (!current_mesh().empty()) got[0] = -1;
  std::copy(got.begin(), got.end(), out.begin());
}
void ByKernelsOfArrays(const KernelCall& call) {
  static const CustomOp inner =
      register_op({.name = "test_by_arrays", .rule = "n -> n", .kernel = ByArrays});
  auto in = call.in[0].data<float>(), out = call.out[0].data<float>();
  std::vector<float> got =
      inner({array(std::vector<float>(in.begin(), in.end()))}).to_vector<float>();
  std::copy(got.begin(), got.end(), out.begin());
}

// Their team is at work while they run.
TEST_F(CustomOps, MayUseArrays) {
  static const CustomOp op =
      register_op({.name = "test_nested_arrays", .rule = "n -> n", .kernel = ByKernelsOfArrays});
  for (int workers : {1, 3}) {
    SetWorkerCount(workers);
    MeshScope scope(make_mesh({{"x", 8}}));
    Array x = reshard(arange(65536.0), P("x"));
    Array y = jit([](Array a) { return op({a}, {.out_sharding = P("x")}) + 1; })(x);
    EXPECT_EQ(y.to_vector<float>(), (x * 2 + 1).to_vector<float>());
  }
  SetWorkerCount(0);
}

TEST_F(CustomOps, MayUseArraysOnThreadsOfTheirOwn) {
  static const CustomOp op = register_op(
      {.name = "test_own_threads", .rule = "n -> n", .kernel = [](const KernelCall& call) {
         std::thread thread([&] { ByArrays(call); });
         thread.join();
       }});
  EXPECT_THAT(op({arange(4.0)}).to_vector<float>(), testing::ElementsAre(0, 2, 4, 6));
}

// An exception of a kernel, or of an array function in it, leaves the call; the team works on.
TEST_F(CustomOps, MayThrow) {
  static bool armed = false;
  static const CustomOp op =
      register_op({.name = "test_throws", .rule = "n -> n", .kernel = [](const KernelCall& call) {
                     ByArrays(call);
                     if (armed) ones({2}) + ones({3});
                   }});
  armed = true;
  for (int workers : {1, 3}) {
    SetWorkerCount(workers);
    MeshScope scope(make_mesh({{"x", 8}}));
    Array x = reshard(arange(65536.0), P("x"));
    EXPECT_THROW(op({x}), ShapeError);
    EXPECT_EQ(sum(x + x).item<float>(), 65536.0 * 65535.0);
  }
  SetWorkerCount(0);
}

TEST_F(CustomOps, ThrowWhatTheUsersCodeThrowsNestedInAnErrorWithTheLine) {
  static bool armed = false;
  static const CustomOp op = register_op(
      {.name = "test_throws_its_own", .rule = "n -> n", .kernel = [](const KernelCall& call) {
         ByArrays(call);
         if (armed) throw std::logic_error("boom");
       }});
  armed = true;
  for (int workers : {1, 3}) {
    SetWorkerCount(workers);
    MeshScope scope(make_mesh({{"x", 8}}));
    Array x = reshard(arange(65536.0), P("x"));
    try {
      op({x});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RuntimeError& e) {
      EXPECT_THAT(e.where(), testing::StartsWith("custom_op_test.cc:"));
      EXPECT_THAT(e.what(), HasSubstr("the kernel threw an exception: boom"));
      EXPECT_THROW(std::rethrow_if_nested(e), std::logic_error);
    }
    EXPECT_EQ(sum(x + x).item<float>(), 65536.0 * 65535.0);
  }
  SetWorkerCount(0);
}

TEST_F(CustomOps, KeepTheirNameInProgramText) {
  Program p = jit([](Array x) { return GateOp()({x, x}); }).trace(zeros({2, 3}));
  EXPECT_THAT(p.text(), HasSubstr("= test_gate %0, %0"));
  EXPECT_THAT(Program::Parse(p.text()).text(), HasSubstr("= test_gate %0, %0"));
}

TEST_F(CustomOps, SayWhatWasChecked) {
  EXPECT_EQ(RowMaxOp().report(),
            "b in 2 shards, f32: same result as unsharded\n"
            "h in 2 shards, f32: same result as unsharded\n");
}

std::string Refusal(OpDefinition definition) {
  try {
    register_op(std::move(definition));
  } catch (const Error& e) {
    return e.what();
  }
  return "registered";
}

TEST_F(CustomOps, AreRefusedWithACounterExample) {
  auto first = [](const KernelCall& call) {
    auto x = call.in[0].data<float>(), out = call.out[0].data<float>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = x[i] + x[0];
  };
  EXPECT_THAT(
      Refusal({.name = "test_first", .rule = "b -> b", .kernel = first}),
      HasSubstr("the rule \"b -> b\" is wrong: with b in 2 shards, element [2] of result 0"));
  EXPECT_EQ(Refusal({.name = "test_first", .rule = "b -> b need_replication={b}", .kernel = first}),
            "registered");
  EXPECT_THAT(Refusal({.name = "test_max", .rule = "b h -> b", .kernel = RowMax}),
              HasSubstr("with h in 2 shards"));
}

TEST_F(CustomOps, NeedANewWordAKernelAndARule) {
  GateOp();
  EXPECT_THAT(Refusal({.name = "test_gate", .rule = "b -> b", .kernel = Gate}),
              HasSubstr("an op named \"test_gate\" already exists"));
  EXPECT_THAT(Refusal({.name = "a b", .rule = "b -> b", .kernel = Gate}),
              HasSubstr("not a valid name"));
  EXPECT_THAT(Refusal({.name = "test_none", .rule = "b -> b"}), HasSubstr("no .kernel"));
  EXPECT_THAT(Refusal({.name = "test_rule", .rule = "b => b", .kernel = Gate}),
              HasSubstr("line 1, column 3"));
  EXPECT_THAT(Refusal({.name = "test_rule", .rule = "b -> k", .kernel = Gate}),
              HasSubstr("no operand has factor k"));
  EXPECT_THAT(Refusal({.name = "test_rule", .rule = "b -> b reduction=max{b}", .kernel = Gate}),
              HasSubstr("a result has factor b"));
}

// ---- derivatives ----

const CustomOp& OpWithVjp() {
  static const CustomOp op =
      register_op({.name = "test_gate_vjp",
                   .rule = "b h, b h -> b h",
                   .kernel = Gate,
                   .samples = {f32},
                   .vjp = [](const std::vector<Array>& v) {
                     return std::vector<Array>{where(v[1] > 0, v[2], 0), zeros_like(v[1])};
                   }});
  return op;
}

TEST_F(CustomOps, HaveTheDerivativeThatTheyAreGiven) {
  EXPECT_THAT(OpWithVjp().report(), HasSubstr("vjp, in f32: agrees with finite differences"));
  auto f = [](Array x, Array g) { return sum(square(OpWithVjp()({x, g}))); };
  const Array x = array({{1.0f, 2.0f}, {3.0f, 4.0f}}), g = array({{1.0f, -1.0f}, {-1.0f, 1.0f}});
  auto [dx, dg] = grad<0, 1>(f)(x, g);
  EXPECT_THAT(dx.to_vector<float>(), testing::ElementsAre(2, 0, 0, 8));
  EXPECT_THAT(dg.to_vector<float>(), testing::ElementsAre(0, 0, 0, 0));
  auto second = [&](Array v) { return sum(v * grad(f)(v, g)); };
  EXPECT_THAT(jit(grad(second))(x).to_vector<float>(), testing::ElementsAre(4, 0, 0, 16));
  auto steps = [&](Array v) {
    return sum(scan(
                   [&](Array c, NoneType) {
                     return std::pair(OpWithVjp()({c, g}) * 2, None);
                   },
                   v, None, {.length = 3})
                   .first);
  };
  EXPECT_THAT(grad(checkpoint(steps))(x).to_vector<float>(), testing::ElementsAre(8, 0, 0, 8));
  check_grads(f, std::tuple(ones({8, 4}), ones({8, 4})));
  EXPECT_THROW(jvp(f, std::tuple(x, g), std::tuple(x, g)), TraceError);
}

TEST_F(CustomOps, HaveDerivativesOnManyDevices) {
  const CustomOp op = OpWithVjp();
  auto f = [op](Array x, Array g) { return sum(op({x * x, g})); };
  const auto args =
      std::tuple(iota({8, 8}, 0, {.dtype = f32}), sin(iota({8, 8}, 1, {.dtype = f32})));
  check_spmd_grads(f, args, {make_mesh({{"x", 2}, {"y", 4}})}, {.in_shardings = P("x", "y")});
  check_spmd_grads(f, args, {make_mesh({{"x", 2, Auto}, {"y", 4, Auto}})},
                   {.in_shardings = P("x", "y")});
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  Array x = reshard(std::get<0>(args), P("x", "y")), g = reshard(std::get<1>(args), P("x", "y"));
  EXPECT_EQ(type_of(grad(f)(x, g)).text(), "f32[8@x,8@y]");
}

TEST_F(CustomOps, OfSeveralResultsHaveDerivatives) {
  static const CustomOp op =
      register_op({.name = "test_sum_and_product",
                   .rule = "i, i -> i, i",
                   .kernel =
                       [](const KernelCall& call) {
                         auto a = call.in[0].data<double>(), b = call.in[1].data<double>(),
                              s = call.out[0].data<double>(), p = call.out[1].data<double>();
                         for (size_t i = 0; i < a.size(); ++i)
                           s[i] = a[i] + b[i], p[i] = a[i] * b[i];
                       },
                   .samples = {f64},
                   .vjp =
                       [](const std::vector<Array>& v) {
                         return std::vector<Array>{v[2] + v[3] * v[1], v[2] + v[3] * v[0]};
                       }});
  auto f = [](Array a, Array b) {
    auto r = op.results({a, b});
    return sum(sin(r[1])) + sum(exp(r[0]));
  };
  check_grads(f, std::tuple(array({0.1, 0.2}, {.dtype = f64}), array({0.3, 0.4}, {.dtype = f64})));
  // Of one result only: the other's cotangent is zero.
  check_grads([](Array a) { return op.results({a, a})[1]; }, array({0.1, 0.2}, {.dtype = f64}));
}

TEST_F(CustomOps, WithoutOperandsMayHaveAVjp) {
  auto fill = [](const KernelCall& call) {
    for (float& v : call.out[0].data<float>()) v = 1;
  };
  const CustomOp op =
      register_op({.name = "test_ones",
                   .rule = "-> i need_replication={i}",
                   .kernel = fill,
                   .type =
                       [](const std::vector<ShapedType>&) {
                         return std::vector<ShapedType>{{{3}, f32}};
                       },
                   .vjp = [](const std::vector<Array>&) { return std::vector<Array>{}; }});
  EXPECT_THAT(op({}).to_vector<float>(), testing::ElementsAre(1, 1, 1));
}

TEST_F(CustomOps, AreRegisteredByAnyThread) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int k = 0; k < 50; ++k)
        register_op({.name = "test_thread_" + std::to_string(t) + "_" + std::to_string(k),
                     .rule = "b h, b h -> b h",
                     .kernel = Gate});
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera::custom_op_test

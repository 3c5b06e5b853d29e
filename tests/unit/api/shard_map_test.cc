// shard_map and its collectives as users call them: types, values, gradients, mapping, reports.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <atomic>
#include <chrono>
#include <functional>

#include "runtime/run.h"

namespace tessera::shard_map_test {
namespace {

using testing::ElementsAre;
using testing::Pointwise;

std::vector<double> Values(const Array& x) { return x.astype(f64).to_vector<double>(); }
Array Numbers(std::vector<int64_t> shape, PartitionSpec spec) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return reshard(sin(arange(static_cast<double>(n), {.dtype = f64})).reshape(shape), spec);
}
std::string TypeOf(const Array& x) { return type_of(x).text(); }

// A function of a device's shard of [8, 8] over x and y, and the spec of its result.
struct Local {
  const char* name;
  const char* type;  // of the result inside
  std::function<Array(Array)> f;
  PartitionSpec out;
  std::function<Array(Array)> plain;  // of the whole array
};

Array Blocks(const Array& a) { return a.reshape({2, 4, 4, 2}); }  // x, rows, y, columns

const std::vector<Local>& Locals() {
  static const std::vector<Local> locals = {
      {"psum", "f64[4,2]{V:x}", [](Array v) { return psum(v, "y"); }, P("x", None),
       [](Array a) {
         return sum(Blocks(a), 2).reshape({8, 2});
       }},
      {"psum_both", "f64[4,2]",
       [](Array v) {
         return psum(v, {"x", "y"});
       },
       P(),
       [](Array a) {
         return sum(Blocks(a), {0, 2});
       }},
      {"psum_of_halves", "f64[4,2]{V:(x,y:(1)2)}",
       [](Array v) { return psum(v, SubAxis("y", 2, 2)); }, P("x", "y"),
       [](Array a) {
         Array pairs = sum(a.reshape({2, 4, 2, 2, 2}), 3);  // x, rows, y, columns
         return repeat(pairs.reshape({2, 4, 2, 1, 2}), 2, 3).reshape({8, 8});
       }},
      {"pmean", "f64[4,2]{V:y}", [](Array v) { return pmean(v, "x"); }, P(None, "y"),
       [](Array a) {
         return mean(a.reshape({2, 4, 8}), 0);
       }},
      {"pmax", "f64[4,2]{V:x}", [](Array v) { return pmax(v, "y"); }, P("x"),
       [](Array a) {
         return max(Blocks(a), 2).reshape({8, 2});
       }},
      {"pmin", "f64[4,2]",
       [](Array v) {
         return pmin(v, {"y", "x"});
       },
       P(),
       [](Array a) {
         return min(Blocks(a), {0, 2});
       }},
      {"all_gather_to_varying", "f64[4,8]{V:(x,y)}",
       [](Array v) { return all_gather(v, "y", {.dim = 1, .tiled = true}); }, P("x", "y"),
       [](Array a) {
         return tile(a, {1, 4});
       }},
      {"all_gather_to_invarying", "f64[4,8]{V:x}",
       [](Array v) {
         return all_gather(v, "y", {.dim = 1, .tiled = true, .to = Variance::kInvarying});
       },
       P("x", None), [](Array a) { return a; }},
      {"all_gather_stacks", "f64[4,4,2]{V:x}",
       [](Array v) { return all_gather(v, "y", {.dim = 1, .to = Variance::kInvarying}); }, P("x"),
       [](Array a) {
         return a.reshape({8, 4, 2});
       }},
      {"psum_scatter", "f64[1,2]{V:(x,y)}",
       [](Array v) { return psum_scatter(v, "y", {.tiled = true}); }, P({"x", "y"}, None),
       [](Array a) {
         return sum(Blocks(a), 2).reshape({8, 2});
       }},
      {"psum_scatter_of_entries", "f64[2]{V:(x,y)}",
       [](Array v) { return psum_scatter(v, "y", {.dim = 0}); }, P({"x", "y"}),
       [](Array a) { return sum(Blocks(a), 2).reshape({16}); }},
      {"all_to_all", "f64[1,8]{V:(x,y)}",
       [](Array v) { return all_to_all(v, "y", 0, 1, {.tiled = true}); }, P({"x", "y"}, None),
       [](Array a) { return a; }},
      {"all_to_all_of_entries", "f64[2,4]{V:(x,y)}",
       [](Array v) { return all_to_all(v, "y", 0, 1); }, P({"x", "y"}, None),
       [](Array a) {
         return transpose(Blocks(a), {0, 1, 3, 2}).reshape({16, 4});
       }},
      {"ppermute", "f64[4,2]{V:(x,y)}",
       [](Array v) {
         return ppermute(v, "y", {{0, 2}, {3, 0}});
       },
       P("x", "y"),
       [](Array a) {
         Array b = Blocks(a), none = zeros({2, 4, 1, 2}, {.dtype = f64});
         return concatenate({b[{All, All, Slice(3, 4)}], none, b[{All, All, Slice(0, 1)}], none}, 2)
             .reshape({8, 8});
       }},
      {"pshift", "f64[4,2]{V:(x,y)}",
       [](Array v) {
         return pshift(v, {"x", "y"}, -1);
       },
       P("x", "y"),
       [](Array a) {
         Array lines = transpose(Blocks(a), {0, 2, 1, 3}).reshape({8, 8});
         return transpose(roll(lines, -1, 0).reshape({2, 4, 4, 2}), {0, 2, 1, 3}).reshape({8, 8});
       }},
      {"pbroadcast", "f64[4,2]{V:(x,y)}", [](Array v) { return pbroadcast(v, "y", 1); },
       P("x", "y"),
       [](Array a) {
         return tile(a[{All, Slice(2, 4)}], {1, 4});
       }},
      {"axis_index", "f64[4,2]{V:(x,y)}",
       [](Array v) {
         return v * axis_index({"y", "x"}).astype(f64);
       },
       P("x", "y"),
       [](Array a) {
         Array at = arange(8.0, {.dtype = f64}).reshape({4, 2});  // y, x
         return (Blocks(a) * transpose(at).reshape({2, 1, 4, 1})).reshape({8, 8});
       }},
      {"states", "f64[4,2]{V:y}",
       [](Array v) {
         return psum(pcast(v * pcast(ones({2}, {.dtype = f64}), "x", Variance::kReduced), "x",
                           Variance::kUnreduced),
                     "x");
       },
       P(None, "y"),
       [](Array a) {
         return sum(a.reshape({2, 4, 8}), 0);
       }},
      {"a_loop", "f64[4,2]{V:(x,y)}",
       [](Array v) {
         auto step = [&](Array c, NoneType) { return std::pair(sin(c) + pshift(v, "y", 1), None); };
         return scan(step, zeros({4, 2}, {.dtype = f64}), None, {.length = 3}).first;
       },
       P("x", "y"),
       [](Array a) {
         Array v = roll(a, 2, 1), c = zeros({8, 8}, {.dtype = f64});
         for (int i = 0; i < 3; ++i) c = sin(c) + v;
         return c;
       }},
      {"branches_by_device", "f64[4,2]{V:(x,y)}",
       [](Array v) {
         return cond(
             axis_index("y") < 2, [](Array u) { return sin(u); },
             [](Array u) { return u * ones({2}, {.dtype = f64}); }, v);
       },
       P("x", "y"),
       [](Array a) {
         Array halves = a.reshape({8, 2, 4});
         return stack({sin(halves[{All, 0}]), halves[{All, 1}]}, 1).reshape({8, 8});
       }},
      {"branches_that_need_others", "f64[4,2]{V:(x,y)}",
       [](Array v) {
         return switch_case(axis_index("y"),
                            std::tuple([](Array u) { return psum(u, "x"); },
                                       [](Array u) { return u; }, [](Array u) { return 2 * u; }),
                            v);
       },
       P("x", "y"),
       [](Array a) {
         Array b = a.reshape({8, 4, 2});
         Array both = tile(sum(a.reshape({2, 4, 4, 2})[{All, All, 0}], 0), {2, 1});
         return stack({both, b[{All, 1}], 2 * b[{All, 2}], 2 * b[{All, 3}]}, 1).reshape({8, 8});
       }},
  };
  return locals;
}

class Manual : public testing::TestWithParam<size_t> {
 protected:
  Manual() {
    SetDeviceCount(8);
    scope.emplace(make_mesh({{"x", 2}, {"y", 4}}));
    a = Numbers({8, 8}, P("x", "y"));
  }
  // The function of whole arrays, and the type of the result inside.
  std::function<Array(Array)> Mapped(std::string* type = nullptr) const {
    return [this, type](Array x) {
      return shard_map(
          [&](Array v) {
            Array out = local.f(v);
            if (type) *type = TypeOf(out);
            return out;
          },
          {.out_specs = local.out})(x);
    };
  }
  const Local& local = Locals()[GetParam()];
  std::optional<MeshScope> scope;
  Array a;
};

TEST_P(Manual, GivesWhatThePlainProgramGives) {
  std::string type;
  const Array out = Mapped(&type)(a);
  EXPECT_EQ(type, local.type);
  const std::vector<double> want = Values(local.plain(reshard(a, P())));
  EXPECT_THAT(Values(out), Pointwise(testing::DoubleNear(1e-12), want));
  EXPECT_THAT(Values(jit(Mapped())(a)), Pointwise(testing::DoubleNear(1e-12), want));
}

TEST_P(Manual, HasTheGradientOfThePlainProgram) {
  const auto loss = [](const std::function<Array(Array)>& f) {
    return [f](Array x) {
      Array out = f(x);
      return sum(out *
                 cos(arange(static_cast<double>(out.size()), {.dtype = f64})
                         .reshape(type_of(out).shape())) *
                 sin(out));
    };
  };
  const Array gradient = grad(loss(Mapped()))(a);
  EXPECT_EQ(TypeOf(gradient), TypeOf(a));
  EXPECT_THAT(Values(gradient), Pointwise(testing::DoubleNear(1e-11),
                                          Values(grad(loss(local.plain))(reshard(a, P())))));
  check_grads(Mapped(), a);
}

TEST_P(Manual, MapsAsThePlainProgramDoes) {
  const Array three = stack({a, 2 * a, a + 1}, 0);
  std::vector<double> want;
  for (const Array& x : {a, 2 * a, a + 1})
    for (double v : Values(Mapped()(x))) want.push_back(v);
  EXPECT_THAT(Values(vmap(Mapped())(three)), Pointwise(testing::DoubleNear(1e-12), want));
  EXPECT_THAT(Values(jit(vmap(Mapped()))(three)), Pointwise(testing::DoubleNear(1e-12), want));
}

TEST_P(Manual, KeepsItsBitsWithoutReplicaSharing) {
  const std::vector<double> want = Values(jit(Mapped())(a));
  ReplicaSharing(false);
  const std::vector<double> apart = Values(jit(Mapped())(a)), eager = Values(Mapped()(a));
  ReplicaSharing(true);
  EXPECT_EQ(apart, want);
  EXPECT_EQ(eager, want);
}

TEST_P(Manual, PrintsAndParses) {
  const std::string text = jit(Mapped()).trace(a).text();
  EXPECT_EQ(Program::Parse(text).text(), text);
}

INSTANTIATE_TEST_SUITE_P(All, Manual, testing::Range(size_t{0}, Locals().size()),
                         [](const auto& info) { return Locals()[info.param].name; });

// ---- the border ---------------------------------------------------------------------------------

TEST(ShardMap, TakesSpecsFromTypes) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  std::vector<std::string> types;
  auto f = shard_map(
      [&](Array a, Array b) {
        types = {TypeOf(a), TypeOf(b)};
        return psum(sum(a), {"x", "y"}) + psum(sum(b), {"x"});
      },
      {.out_specs = P()});
  Array a = Numbers({8, 8}, P({"y", "x"}, None)), b = Numbers({4}, P("x"));
  EXPECT_NEAR(f(a, b).item<double>(), sum(a).item<double>() + sum(b).item<double>(), 1e-12);
  EXPECT_THAT(types, ElementsAre("f64[1,8]{V:(x,y)}", "f64[2]{V:x}"));
}

TEST(ShardMap, LeavesOtherAxesExplicit) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  std::string inside;
  auto f = shard_map(
      [&](Array v) {
        inside = TypeOf(v);
        return psum(matmul(v, transpose(v), {.out_sharding = P("y", None)}), "x");
      },
      {.out_specs = P(), .axes = "x"});
  Array a = Numbers({8, 8}, P("y", "x"));
  Array out = f(a);
  EXPECT_EQ(inside, "f64[8@y,4]{V:x}");
  EXPECT_EQ(TypeOf(out), "f64[8@y,8]");
  const Array whole = reshard(a, P());
  EXPECT_THAT(Values(out),
              Pointwise(testing::DoubleNear(1e-12), Values(matmul(whole, transpose(whole)))));
  check_grads(f, a);
}

TEST(ShardMap, StandsBesideAutoAxes) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4, Auto}}));
  auto f = shard_map([](Array v) { return psum(with_sharding_constraint(sin(v), P("y")), "x"); },
                     {.out_specs = P(), .axes = "x"});
  Array a = Numbers({8, 8}, P("x", None));
  const Array whole = sin(reshard(a, P()));
  const std::vector<double> want = Values(whole[Slice(0, 4)] + whole[Slice(4, 8)]);
  EXPECT_THAT(Values(f(a)), Pointwise(testing::DoubleNear(1e-12), want));
  EXPECT_THAT(Values(jit(f)(a)), Pointwise(testing::DoubleNear(1e-12), want));
  check_grads(f, a);
  auto g = shard_map([](Array v) { return pshift(v, "y", 1); },
                     {.in_specs = P(None, "y"), .out_specs = P(None, "y"), .axes = "y"});
  EXPECT_EQ(Values(jit(g)(a)), Values(roll(reshard(a, P()), 2, 1)));
  check_grads(g, a);
}

TEST(ShardMap, NestsOverOtherAxes) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  auto inner = shard_map([](Array v) { return psum(v, "y"); }, {.out_specs = P(), .axes = "y"});
  auto f = shard_map([&](Array v) { return psum(inner(v), "x"); }, {.out_specs = P(), .axes = "x"});
  Array a = Numbers({8, 8}, P("x", "y"));
  auto g = shard_map([](Array v) { return psum(v, {"x", "y"}); }, {.out_specs = P()});
  EXPECT_THAT(Values(f(a)), Pointwise(testing::DoubleNear(1e-12), Values(g(a))));
  EXPECT_THAT(Values(jit(f)(a)), Pointwise(testing::DoubleNear(1e-12), Values(g(a))));
  check_grads(f, a);
}

TEST(ShardMap, UsesArraysOfTheOutside) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  Array a = Numbers({8, 8}, P("x", "y"));
  const auto f = [&](Array w) {
    return sum(sin(shard_map([&](Array v) { return v * w; }, {.out_specs = P("x", "y")})(a)));
  };
  Array w = Numbers({2}, P());
  EXPECT_EQ(TypeOf(grad(f)(w)), "f64[2]");
  check_grads(f, w);
  check_grads(f, array({1.5, 2.5}, {.dtype = f64}));  // on no mesh
}

TEST(ShardMap, PassesTermsOfSums) {
  SetDeviceCount(2);
  MeshScope scope(make_mesh({{"x", 2}}));
  Array a = Numbers({4}, P("x"));
  auto f = shard_map([](Array v) { return pcast(v, "x", Variance::kUnreduced); },
                     {.out_specs = P(None).unreduced("x")});
  EXPECT_EQ(TypeOf(f(a)), "f64[2]{U:x}");
  Array halves = reshard(a, P());
  EXPECT_THAT(Values(reshard(f(a), P())),
              Pointwise(testing::DoubleEq(), Values(halves[Slice(0, 2)] + halves[Slice(2, 4)])));
}

void Twice(const KernelCall& call) {
  auto x = call.in[0].data<double>(), out = call.out[0].data<double>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = 2 * x[i];
}
TEST(ShardMap, TakesUsersOpsWithTheirDerivatives) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  CustomOp twice = register_op(
      {.name = "twice_inside",
       .rule = "b h -> b h",
       .kernel = Twice,
       .samples = {f64},
       .vjp = [](const std::vector<Array>& v) { return std::vector<Array>{2 * v[1]}; }});
  auto f = shard_map([&](Array v) { return psum(twice({v}), "x"); }, {.out_specs = P()});
  Array a = Numbers({8, 2}, P("x"));
  EXPECT_THAT(Values(grad([&](Array v) { return sum(f(v)); })(a)), testing::Each(2));
  check_grads(f, a);
}

// ---- programs -----------------------------------------------------------------------------------

TEST(ShardMap, SendsWhatItSays) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  Array a = reshard(zeros({64, 64}), P("x", "y"));
  auto f = shard_map(
      [](Array v) {
        Array all = all_gather(v, "y", {.dim = 1, .tiled = true});
        return psum_scatter(sin(all), "y", {.dim = 1, .tiled = true}) + pshift(v, "x", 1);
      },
      {.out_specs = P("x", "y")});
  const CommReport report = jit(f).lower(a).comm();
  ASSERT_EQ(report.events().size(), 3u);
  EXPECT_EQ(report.count(CommKind::kAllGather, "y"), 1);
  EXPECT_EQ(report.count(CommKind::kReduceScatter, "y"), 1);
  EXPECT_EQ(report.count(CommKind::kCollectivePermute, "x"), 1);
  for (const CommEvent& e : report.events()) EXPECT_FALSE(e.implied);
  EXPECT_EQ(report.bytes(), 3 * 32 * 16 * 4 + 3 * 32 * 16 * 4 + 32 * 16 * 4);
  CommPolicy policy({.rule = CommRule::kForbid, .kinds = {CommKind::kAllGather}});
  EXPECT_THROW(jit(f).lower(a), ShardingError);
}

TEST(ShardMap, PutsSumsOfGradientsInFrontOfBranches) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"y", 4}}));
  Array a = Numbers({8}, P("y"));
  const auto f = [&](Array w) {
    auto body = [&](Array v) {
      return cond(
          axis_index("y") < 2, [&](Array u) { return u * w; }, [&](Array u) { return u; }, v);
    };
    return sum(shard_map(body, {.out_specs = P("y")})(a));
  };
  Array w = Numbers({2}, P());
  const Program program = jit(grad(f)).trace(w);
  EXPECT_THAT(program.text(), testing::HasSubstr("psum"));
  check_grads(f, w);
}

TEST(ShardMap, RunsLoopsOfEveryDevicesOwn) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8}}));
  // Newton's iteration for square roots, until each device is content.
  auto roots = shard_map(
      [](Array v) {
        using State = std::pair<Array, Array>;
        return while_loop([&](State s) { return any(abs(s.first * s.first - v) > 1e-12); },
                          [&](State s) { return State((s.first + v / s.first) / 2, s.second + 1); },
                          State(v, zeros({1}, {.dtype = i32})));
      },
      {.out_specs = {P("x"), P("x")}});
  Array v = exp(reshard(arange(8.0, {.dtype = f64}), P("x")));
  for (bool share : {true, false}) {
    ReplicaSharing(share);
    auto [root, steps] = roots(v);
    auto [jitted, same_steps] = jit(roots)(v);
    ReplicaSharing(true);
    EXPECT_THAT(Values(root), Pointwise(testing::DoubleNear(1e-9), Values(sqrt(v))));
    EXPECT_EQ(Values(jitted), Values(root));
    EXPECT_EQ(Values(same_steps), Values(steps));
    EXPECT_THAT(Values(steps), testing::ElementsAre(0, 5, 6, 7, 7, 8, 9, 10));
  }
  EXPECT_TRUE(jit(roots).lower(v).comm().empty());
}

// ---- checks at run time -------------------------------------------------------------------------

// Buffers of each device's own while it lives.
struct Unshared {
  Unshared() { ReplicaSharing(false); }
  ~Unshared() { ReplicaSharing(true), SetWorkerCount(0); }
};

// An op whose type says that it depends on its operand, and which gives the one of 64 devices that
// asks last another result.
const CustomOp& Lie() {
  static const CustomOp op = [] {
    static std::atomic<bool> lies{false};
    static std::atomic<int> calls{0};
    const CustomOp made =
        register_op({.name = "test_lie", .rule = "i -> i", .kernel = [](const KernelCall& call) {
                       const bool last = lies && calls++ % 64 == 63;
                       for (float& x : call.out[0].data<float>()) x = last;
                     }});
    lies = true;
    return made;
  }();
  return op;
}

TEST(ShardMap, FailsAtOnceWherePredicatesDifferThatShouldNot) {
  SetDeviceCount(64);
  MeshScope scope(make_mesh({{"x", 64}}));
  Lie();
  const Unshared unshared;
  SetWorkerCount(1);
  const auto lying = [](Array v) { return sum(Lie()({v})) < 1; };
  auto loop = jit(shard_map(
      [&](Array v) {
        return while_loop(
            lying, [](Array u) { return u + psum(u, "x"); }, v);
      },
      {.in_specs = P(), .out_specs = P()}));
  auto branch = jit(shard_map(
      [&](Array v) {
        return cond(
            lying(v), [](Array u) { return psum(u, "x"); }, [](Array u) { return u; }, v);
      },
      {.in_specs = P(), .out_specs = P()}));
  for (const auto& f : {std::function<Array(Array)>(loop), std::function<Array(Array)>(branch)}) {
    const Array v = zeros({2});
    EXPECT_THROW(f(v), RuntimeError);  // compiles
    const auto begin = std::chrono::steady_clock::now();
    try {
      f(v);
      FAIL();
    } catch (const RuntimeError& e) {
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
      EXPECT_THAT(e.what(), testing::HasSubstr("device 0 (x=0) has true and device 63 (x=63) has "
                                               "false\n  it was computed at shard_map_test.cc:"));
    }
    runtime::ForceParallel(true);
    SetWorkerCount(2);
    EXPECT_THROW(f(v), RuntimeError);
    runtime::ForceParallel(false);
    SetWorkerCount(1);
  }
}

TEST(ShardMap, ChecksPromisesWithoutReplicaSharing) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  const auto f = [](Array v) {
    return shard_map(
        [](Array u) {
          return assume_invariant(pcast(u + axis_index("x"), "y", Variance::kVarying), "y");
        },
        {.out_specs = P("x")})(v);
  };
  const Array v = reshard(arange(4.0), P("x"));
  const std::vector<double> want = Values(f(v));
  const Unshared unshared;
  EXPECT_EQ(Values(f(v)), want) << "they may differ over x";
  EXPECT_EQ(Values(jit(f)(v)), want);
  const Array lanes = stack({v, v + 1}, 0);
  EXPECT_EQ(Values(jit(vmap(f))(lanes))[1], want[1]);
  EXPECT_EQ(Values(grad([&](Array u) { return sum(f(u)); })(v)), (std::vector<double>{1, 1, 1, 1}));
  auto broken = shard_map([](Array u) { return assume_invariant(u + axis_index("y") / 2, "y"); },
                          {.out_specs = P("x")});
  for (const auto& g :
       {std::function<Array(Array)>(broken), std::function<Array(Array)>(jit(broken))})
    try {
      g(v);
      FAIL();
    } catch (const RuntimeError& e) {
      EXPECT_THAT(e.what(),
                  testing::HasSubstr("element [0] of f32[2]{V:(x,y)} is 0 on device 0 (x=0, "
                                     "y=0) but 0.5 on device 1 (x=0, y=1)"));
    }
}

TEST(ShardMap, SaysOnceThatACarryComesToVary) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  const auto f = [](Array v) {
    return shard_map(
        [](Array u) {
          return scan([&](Array c, Array) { return std::pair(c + u, c); }, zeros({2}), zeros({3}))
              .first;
        },
        {.out_specs = P("x")})(v);
  };
  const auto notes = [&](auto g) {
    testing::internal::CaptureStderr();
    g(reshard(ones({8}), P("x")));
    return testing::internal::GetCapturedStderr();
  };
  RetraceNotes(false);
  EXPECT_EQ(notes(f), "");
  RetraceNotes(true);
  EXPECT_THAT(notes(jit(f)),
              testing::MatchesRegex("tessera: shard_map_test.cc:[0-9]+: scan: the body makes carry "
                                    "vary over \"x\" .shard_map_test.cc:.*, so it varies from the "
                                    "start\n"
                                    ".*pcast.*\n.*RetraceNotes\\(false\\).*\n"));
  EXPECT_EQ(notes(f), "");
}

TEST(ShardMap, LeavesMappedAxesOut) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 2}, {"y", 4}}));
  std::string inside;
  auto f = shard_map(
      [&](Array v) {
        inside = TypeOf(v);
        return psum(v, "y");
      },
      {.out_specs = P()});
  const Array a = Numbers({4, 8}, P("x", "y"));
  auto mapped = vmap(f);
  for (const Array& out : {mapped(a), jit(mapped)(a)}) {
    EXPECT_EQ(inside, "f64[2]{V:y}");
    EXPECT_EQ(TypeOf(out), "f64[4@x,2]");
    const Array want = sum(reshard(a, P()).reshape({4, 4, 2}), 1);
    EXPECT_THAT(Values(out), Pointwise(testing::DoubleNear(1e-12), Values(want)));
  }
  f(Numbers({8}, P("y")));
  EXPECT_EQ(inside, "f64[2]{V:y}") << "all axes again";
}

// Groups of devices have their own numbers of iterations, in which they send to one another.
TEST(ShardMap, RunsLoopsOfEveryGroupsOwn) {
  SetDeviceCount(4);
  MeshScope scope(make_mesh({{"x", 4}}));
  auto doubled = shard_map(
      [](Array v) {
        Array trips = psum(axis_index("x"), SubAxis("x", 2, 2));  // 1 and 5
        return fori_loop(
            0, trips, [](Array, Array c) { return psum(c, SubAxis("x", 2, 2)); }, v);
      },
      {.out_specs = P("x")});
  Array v = reshard(arange(4.0, {.dtype = f64}), P("x"));
  EXPECT_THAT(Values(doubled(v)), ElementsAre(1, 1, 80, 80));
  EXPECT_THAT(Values(jit(doubled)(v)), ElementsAre(1, 1, 80, 80));
}

}  // namespace
}  // namespace tessera::shard_map_test

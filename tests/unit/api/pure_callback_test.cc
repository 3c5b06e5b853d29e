// pure_callback: values, the number and the arguments of host calls, sharded and in every
// transform.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <mutex>

namespace tessera::pure_callback_test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Values = std::vector<float>;

Array Float(const std::vector<int64_t>& shape) { return zeros(Shape(shape)); }

// Cubes the elements, and records its arguments.
struct Host {
  std::vector<std::string> calls;
  std::mutex mutex;
  auto cube() {
    return [this](Array x) {
      {
        const std::lock_guard lock(mutex);
        calls.push_back(type_of(x).text());
      }
      Values v = x.to_vector<float>();
      for (float& e : v) e = e * e * e;
      return array(v, {.shape = Shape(x.shape())});
    };
  }
  auto of(const VmapMethod method = VmapMethod::kSequential) {
    return [this, method](Array x) {
      return pure_callback(cube(), Float(x.shape()), x, {.vmap_method = method});
    };
  }
};

class PureCallback : public testing::Test {
 protected:
  PureCallback() { SetDeviceCount(8); }
  ~PureCallback() override {
    ReplicaSharing(true);
    SetDeviceCount(1);
  }
  Host host;
};

TEST_F(PureCallback, GivesValuesEagerlyAndUnderJit) {
  const Array x = array({1., 2., 3.});
  EXPECT_THAT(host.of()(x).to_vector<float>(), ElementsAre(1, 8, 27));
  const auto f = jit([&](Array v) { return host.of()(v + 1) * 2; });
  EXPECT_THAT(f(x).to_vector<float>(), ElementsAre(16, 54, 128));
  EXPECT_THAT(f(x * 0).to_vector<float>(), ElementsAre(2, 2, 2));
  EXPECT_THAT(host.calls, ElementsAre("f32[3]", "f32[3]", "f32[3]"));
}

TEST_F(PureCallback, TakesAndReturnsTrees) {
  const auto sums = [](std::pair<Array, Array> p, int n) {
    return std::vector<Array>{sum(p.first) * n, (p.second * 2).astype(i32)};
  };
  const std::vector<Array> like{abstract_array("f32[]"), abstract_array("i32[2]")};
  const auto call = [&](Array a, Array b) {
    return pure_callback(sums, like, std::tuple(std::pair(a, b), 3));
  };
  const Array a = array({1., 2.}), b = array({3., 4.});
  for (const auto& got : {call(a, b), jit(call)(a, b)}) {
    EXPECT_EQ(got[0].item<float>(), 9);
    EXPECT_THAT(got[1].to_vector<int>(), ElementsAre(6, 8));
  }
  const auto nothing = [] { return Array(3.0f); };
  const auto constant = [&] { return pure_callback(nothing, Array(0.f), std::tuple<>()); };
  EXPECT_EQ(jit(constant)().item<float>(), 3);
  EXPECT_EQ(constant().item<float>(), 3);
}

TEST_F(PureCallback, RunsInLoopsAndInTheBranchThatIsTaken) {
  const auto f = host.of();
  const Array x = array({1., 2.});
  const auto step = [&](Array c, Array v) { return std::pair(c + f(v), f(c)); };
  const auto run = jit([&](Array xs) { return scan(step, zeros({2}), xs); });
  const auto [last, each] = run(stack({x, x, x}));
  EXPECT_THAT(last.to_vector<float>(), ElementsAre(3, 24));
  EXPECT_THAT(each.to_vector<float>(), ElementsAre(0, 0, 1, 512, 8, 4096));
  EXPECT_EQ(host.calls.size(), 6u);
  host.calls.clear();
  const auto choose = jit([&](Array p, Array v) {
    return cond(
        p, [&](Array y) { return f(y); }, [](Array y) { return y; }, v);
  });
  EXPECT_THAT(choose(Array(false), x).to_vector<float>(), ElementsAre(1, 2));
  EXPECT_TRUE(host.calls.empty());
  EXPECT_THAT(choose(Array(true), x).to_vector<float>(), ElementsAre(1, 8));
  const Array doubled = jit([&](Array v) {
    return while_loop([](Array y) { return max(y) < 100.f; }, [&](Array y) { return f(y); }, v);
  })(array({1., 2.}));
  EXPECT_THAT(doubled.to_vector<float>(), ElementsAre(1, 512));
}

TEST_F(PureCallback, IsLeftOutWhereNothingReadsIt) {
  jit([&](Array x) {
    host.of()(x);
    return x;
  })(ones({2}));
  EXPECT_TRUE(host.calls.empty());
}

// ---- vmap ---------------------------------------------------------------------------------------

TEST_F(PureCallback, IsMappedInThreeWays) {
  const Array xs = arange(12.).reshape({3, 4});
  const Values want = (xs * xs * xs).to_vector<float>();
  EXPECT_EQ(vmap(host.of())(xs).to_vector<float>(), want);
  EXPECT_THAT(host.calls, ElementsAre("f32[4]", "f32[4]", "f32[4]"));
  for (VmapMethod method : {VmapMethod::kExpandDims, VmapMethod::kBroadcastAll}) {
    host.calls.clear();
    EXPECT_EQ(vmap(host.of(method))(xs).to_vector<float>(), want);
    EXPECT_THAT(host.calls, ElementsAre("f32[3,4]"));
  }
  host.calls.clear();
  EXPECT_EQ(jit(vmap(vmap(host.of())))(xs).to_vector<float>(), want);
  EXPECT_EQ(host.calls.size(), 12u);
  EXPECT_EQ(vmap(host.of(), {.in_dims = 1, .out_dims = 1})(xs).to_vector<float>(), want);
}

// Operands that are not mapped, under each method and twice.
TEST_F(PureCallback, SeesWhatIsNotMapped) {
  std::vector<std::string> calls;
  const auto joined = [&](VmapMethod method) {
    return [&calls, method](Array x, Array y) {
      const auto f = [&calls](Array a, Array b) {
        calls.push_back(type_of(a).text() + " " + type_of(b).text());
        return a * 10 + b;
      };
      return pure_callback(f, Float(x.shape()), std::tuple(x, y), {.vmap_method = method});
    };
  };
  const Array x = arange(6.).reshape({3, 2}), y = array({1., 2.});
  const std::pair<VmapMethod, std::string> methods[] = {
      {VmapMethod::kSequential, "f32[2] f32[2]"},
      {VmapMethod::kExpandDims, "f32[3,2] f32[1,2]"},
      {VmapMethod::kBroadcastAll, "f32[3,2] f32[3,2]"}};
  for (const auto& [method, seen] : methods) {
    calls.clear();
    const auto f = joined(method);
    EXPECT_THAT(vmap(f, {.in_dims = {0, None}})(x, y).to_vector<float>(),
                ElementsAre(1, 12, 21, 32, 41, 52));
    ASSERT_FALSE(calls.empty());
    EXPECT_EQ(calls[0], seen);
    // Every pair of a row of x and a row of ys.
    const Array ys = stack({y, y * 3});
    const auto pairs = vmap(vmap(f, {.in_dims = {0, None}}), {.in_dims = {None, 0}});
    EXPECT_THAT(jit(pairs)(x, ys).to_vector<float>(),
                ElementsAre(1, 12, 21, 32, 41, 52, 3, 16, 23, 36, 43, 56));
  }
}

// ---- derivatives --------------------------------------------------------------------------------

TEST_F(PureCallback, HasTheDerivativeOfARuleAroundIt) {
  using One = std::tuple<Array>;
  const auto f = host.of();
  const auto forward = custom_jvp(f, [&](One x, One t) {
    const auto& v = std::get<0>(x);
    return std::pair(f(v), 3 * v * v * std::get<0>(t));
  });
  const auto backward = custom_vjp(
      f, [&](Array x) { return std::pair(f(x), x); },
      [](Array x, Array ct) { return std::tuple(3 * x * x * ct); });
  const Array x = array({1., 2.});
  const auto of_forward = [&](Array v) { return sum(forward(v)); };
  const auto of_backward = [&](Array v) { return sum(backward(v)); };
  EXPECT_THAT(grad(of_forward)(x).to_vector<float>(), ElementsAre(3, 12));
  EXPECT_THAT(jit(grad(of_backward))(x).to_vector<float>(), ElementsAre(3, 12));
  EXPECT_THAT(jvp(of_forward, std::tuple(x), std::tuple(x)).second.item<float>(), 27);
  // It needs no derivative if its operand is not differentiated.
  const auto beside = [&](Array v) { return sum(v * f(stop_gradient(v))); };
  EXPECT_THAT(grad(beside)(x).to_vector<float>(), ElementsAre(1, 8));
  EXPECT_THAT(vmap(grad(of_backward))(stack({x, x + 1})).to_vector<float>(),
              ElementsAre(3, 12, 12, 27));
}

// ---- devices ------------------------------------------------------------------------------------

TEST_F(PureCallback, GetsWholeArraysOnce) {
  const Array whole = arange(32.).reshape({8, 4});
  const Values want = (whole * whole * whole).to_vector<float>();
  for (const auto& [x, y] : {std::pair(1, 1), {2, 1}, {2, 2}, {4, 2}})
    for (const PartitionSpec& spec : {P(), P("x", None), P("x", "y"), P(None, "y")}) {
      SCOPED_TRACE(spec.text());
      MeshScope scope(make_mesh({{"x", x}, {"y", y}}));
      const Array sharded = reshard(whole, spec);
      host.calls.clear();
      const auto laid = [&](Array v) { return pure_callback(host.cube(), v, v); };
      const Array eager = laid(sharded), jitted = jit(laid)(sharded);
      EXPECT_EQ(eager.to_vector<float>(), want);
      EXPECT_EQ(jitted.to_vector<float>(), want);
      EXPECT_EQ(type_of(jitted), type_of(sharded)) << "as like is sharded";
      EXPECT_EQ(type_of(eager), type_of(sharded));
      EXPECT_EQ(type_of(jit(host.of())(sharded)).text(), "f32[8,4]");
      EXPECT_THAT(host.calls, ElementsAre("f32[8,4]", "f32[8,4]", "f32[8,4]"));
    }
}

TEST_F(PureCallback, ShowsWhatItGathersAsImplied) {
  MeshScope scope(abstract_mesh({{"x", 8}}));
  const Array x = abstract_array("f32[8@x,4]");
  EXPECT_EQ(type_of(host.of()(x)).text(), "f32[8,4]");
  const Lowered lowered = jit(host.of()).lower(x);
  ASSERT_EQ(lowered.comm().count(CommKind::kAllGather, "x"), 1);
  EXPECT_TRUE(lowered.comm().events()[0].implied);
  EXPECT_EQ(lowered.comm().bytes(), 7 * 4 * 4);
  EXPECT_TRUE(host.calls.empty());
}

TEST_F(PureCallback, WorksOverAutoAxesAndWithoutSharedReplicas) {
  const Array whole = arange(32.).reshape({8, 4});
  const Values want = (whole * whole * whole).to_vector<float>();
  for (bool shares : {true, false}) {
    ReplicaSharing(shares);
    MeshScope scope(make_mesh({{"x", 2, AxisMode::Auto}, {"y", 2}}));
    const auto f = jit([&](Array v) {
      const Array y = host.of()(with_sharding_constraint(v, P("x")));
      return with_sharding_constraint(y, P(None, "x"));
    });
    EXPECT_EQ(f(whole).to_vector<float>(), want);
  }
}

TEST_F(PureCallback, IsCalledByEachDeviceInsideOfShardMap) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = reshard(arange(8.), P("x"));
  const auto f =
      shard_map([&](Array v) { return host.of()(v); }, {.in_specs = P("x"), .out_specs = P("x")});
  const Values want = (x * x * x).to_vector<float>();
  EXPECT_EQ(f(x).to_vector<float>(), want);
  EXPECT_EQ(jit(f)(x).to_vector<float>(), want);
  EXPECT_EQ(host.calls, std::vector<std::string>(8, "f32[2]"));
}

// Lanes stay where they are: each device calls the function for its own.
TEST_F(PureCallback, KeepsLanesWhereTheyAre) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array x = reshard(arange(32.).reshape({8, 4}), P("x"));
  const Values want = (x * x * x).to_vector<float>();
  const auto mapped = jit(vmap(host.of()));
  EXPECT_TRUE(mapped.lower(x).comm().empty());
  const Array y = mapped(x);
  EXPECT_EQ(type_of(y).text(), "f32[8@x,4]");
  EXPECT_EQ(y.to_vector<float>(), want);
  EXPECT_EQ(host.calls.size(), 8u);
  for (VmapMethod method : {VmapMethod::kExpandDims, VmapMethod::kBroadcastAll}) {
    host.calls.clear();
    const Array at_once = jit(vmap(host.of(method)))(x);
    EXPECT_EQ(type_of(at_once).text(), "f32[8@x,4]");
    EXPECT_EQ(at_once.to_vector<float>(), want);
    EXPECT_THAT(host.calls, ElementsAre("f32[8,4]"));
  }
}

// The function runs under no mesh, in the default dtypes, and may compute by jit.
TEST_F(PureCallback, MayComputeWithArrays) {
  MeshScope scope(make_mesh({{"x", 2}}));
  const DefaultDtypes wide(i64, f64);
  std::string mesh = "?", dtype;
  const auto f = [&](Array x) {
    mesh = current_mesh().empty() ? "none" : "some";
    dtype = zeros({1}).dtype().name();
    return jit([](Array v) { return matmul(v, v); })(x);
  };
  const auto call = [&](Array x) { return pure_callback(f, x, x); };
  const Array x = full({4, 4}, 2.0f, {.dtype = f32});
  EXPECT_EQ((jit(call)(x)[{0, 0}].item<float>()), 16);
  EXPECT_EQ(mesh + " " + dtype, "none f32");
  EXPECT_EQ((call(x)[{0, 0}].item<float>()), 16);
  EXPECT_EQ(mesh + " " + dtype, "none f32");
}

// In a branch that some batch elements take, the host gets the same arguments as outside.
TEST_F(PureCallback, GetsSharedArgumentsWholeInBranchesToo) {
  std::vector<std::string> shapes;
  const auto add = [&](Array w, Array y) {
    shapes.push_back(type_of(w).text());
    return w + y;
  };
  const Array w = ones({2});
  const auto f = [&](Array p, Array y) {
    const auto call = [&](Array y) {
      return pure_callback(add, zeros({2}), std::tuple(w, y),
                           {.vmap_method = VmapMethod::kExpandDims});
    };
    return cond(
        p, call, [](Array y) { return y; }, y);
  };
  vmap(f)(array({true, false, true}), ones({3, 2}));
  EXPECT_THAT(shapes, ElementsAre("f32[1,2]"));
}

// No cache keeps a function of the user or its captures.
TEST_F(PureCallback, IsForgottenWithWhatItCaptured) {
  std::weak_ptr<int> kept;
  {
    const auto owned = std::make_shared<int>(2);
    kept = owned;
    const auto twice = [owned](Array x) { return x * *owned; };
    vmap([&](Array x) { return pure_callback(twice, Float({}), x); })(ones({2}));
    pure_callback(twice, Float({}), Array(1.f));
  }
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace tessera::pure_callback_test

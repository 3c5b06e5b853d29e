// Auto axes: uneven shards, reductions other than sums, and the behaviour of the modes outside
// of jit.
#include <absl/algorithm/container.h>
#include <gmock/gmock.h>
#include <tessera/processes.h>
#include <tessera/tessera.h>

#include <functional>

namespace tessera::suite::auto_test {
namespace {

using Arrays = std::vector<Array>;
using Body = std::function<Array(Array)>;

Mesh AutoMesh(std::vector<MeshAxis> axes) { return make_mesh(axes, {.mode = Auto}); }

std::vector<double> Run(const Body& f, const Array& x) { return jit(f)(x).to_vector<double>(); }

// Expects that f of x, constrained to `spec`, has the same result on every mesh as on one device.
void ExpectSame(const Body& f, const Array& x, const PartitionSpec& spec) {
  std::vector<double> want = Run(f, x);
  for (int64_t n : {2, 3, 4}) {
    MeshScope scope(AutoMesh({{"x", 2}, {"y", n}}));
    auto constrained = [&](Array a) { return f(with_sharding_constraint(a, spec)); };
    EXPECT_EQ(Run(constrained, x), want) << spec.text() << " on " << current_mesh().text();
    EXPECT_EQ(f(with_sharding_constraint(x, spec)).to_vector<double>(), want) << "eagerly";
  }
}

Array Numbers(Shape shape) {
  int64_t n = 1;
  for (int64_t d : shape.dims()) n *= d;
  return astype(arange(n), f32).reshape(shape) - 1000;  // all below the values in padding
}

TEST(Auto, AReductionOverASplitDimKeepsItsKind) {
  Array x = Numbers({6, 5});
  for (const PartitionSpec& spec : {P("x", "y"), P(None, {"y", "x"}), P({"x", "y"})}) {
    ExpectSame([](Array a) { return max(a, 1); }, x, spec);
    ExpectSame([](Array a) { return min(-a); }, x, spec);
    ExpectSame([](Array a) { return prod(a % 3 - 1, 0); }, x, spec);
    ExpectSame([](Array a) { return all(a < 0, 1); }, x, spec);
    ExpectSame([](Array a) { return any(a == -980, 0); }, x, spec);
    ExpectSame([](Array a) { return argmax(a, 1); }, x, spec);
  }
}

TEST(Auto, StridesOfASlicedSplitDimCount) {
  for (int64_t step : {1, 2, 3})
    ExpectSame(
        [=](Array a) {
          return slice(a, {1, 0}, {8, 5}, {step, 2});
        },
        Numbers({8, 5}), P("x", "y"));
}

TEST(Auto, PiecesOfADimAreThoseOfThatDim) {
  Array x = Numbers({2, 3, 8});
  ExpectSame([](Array a) { return slice(a, {0, 0, 3}, {2, 3, 7}); }, x, P(None, None, "y"));
  ExpectSame(
      [](Array a) {
        return pad(a, {{0, 0}, {0, 0}, {2, 1, 1}}, 7);
      },
      x, P(None, None, {"y", "x"}));
}

TEST(Auto, PaddingReachesNoReduction) {
  auto counted = [](Array a) { return astype(exp(a * 0) == 1, i32); };
  Array x = Numbers({5, 7});
  ExpectSame([=](Array a) { return sum(counted(a), 0); }, x, P("x", "y"));
  ExpectSame([=](Array a) { return dot(counted(a), counted(a).T()); }, x, P(None, {"x", "y"}));
  ExpectSame([=](Array a) { return sort(a, 0, {.descending = true}); }, x, P({"x", "y"}));
  ExpectSame([=](Array a) { return cumsum(counted(a), 1, {.reverse = true}); }, x, P("y", "x"));
  ExpectSame([=](Array a) { return top_k(a, 3).indices; }, x, P(None, {"y", "x"}));
}

// Of each other shard a device gets k values and k indices.
TEST(Auto, TopKAlongAShardedDimSendsTheLargestOfEachShard) {
  const auto f = [](Array a) {
    if (!current_mesh().empty()) a = with_sharding_constraint(a, P(None, "x"));
    const auto [values, indices] = top_k(a, 5);
    return std::pair(values, indices);
  };
  const Array x = floor(random::uniform(random::key(0), {3, 1001}) * 50.0f);  // has ties
  const auto [values, indices] = f(x);
  MeshScope scope(AutoMesh({{"x", 4}}));
  const auto sharded = jit(f);
  const auto [got_values, got_indices] = sharded(x);
  EXPECT_EQ(got_values.to_vector<float>(), values.to_vector<float>());
  EXPECT_EQ(got_indices.to_vector<int>(), indices.to_vector<int>());
  EXPECT_EQ(sharded.lower(x).comm().bytes(), 3 * (3 * 5) * (4 + 4));
}

TEST(Auto, ContractingAxesMayBeOutOfMeshOrder) {
  Array x = Numbers({6, 4});
  ExpectSame([](Array a) { return dot(a.T() + 1000, a + 1000); }, x, P({"y", "x"}));
  auto both = [](Array a) {
    return tensordot(a + 1000, a + 1000, {.lhs_contract = {1, 0}, .rhs_contract = {1, 0}});
  };
  ExpectSame(both, x, P("y", "x"));
}

TEST(Auto, AProductMayScatterSomeDimsOnly) {
  auto f = [](Array a) {
    Array c = tensordot(a + 1000, a + 1000, {.lhs_contract = {2}, .rhs_contract = {2}});
    return current_mesh().empty() ? c : with_sharding_constraint(c, P(None, "x", None, None));
  };
  ExpectSame(f, Numbers({2, 3, 8}), P(None, None, {"x", "y"}));
}

TEST(Auto, PartsOfAxesFormGroups) {
  Array x = Numbers({8, 4}) + 1000;
  std::vector<double> want = sum(x, 0).to_vector<double>();
  MeshScope scope(AutoMesh({{"x", 8}}));
  for (AxisRef part : {SubAxis("x", 1, 2), SubAxis("x", 2, 2), SubAxis("x", 4, 2)}) {
    auto f = jit([=](Array a) { return sum(with_sharding_constraint(a, P(part)), 0); });
    EXPECT_EQ(f(x).to_vector<double>(), want) << part.pre;
  }
}

TEST(Auto, AConcatenationOfPiecesSmallerThanTheMesh) {
  ExpectSame(
      [](Array a) {
        return concatenate({a[{Slice(1, 5)}], a[{Slice(0, 1)}]}, 0);
      },
      Numbers({5, 3}), P({"x", "y"}));
}

TEST(Auto, ALoopFollowsWhatIsAskedBehindIt) {
  MeshScope scope(AutoMesh({{"x", 2}, {"y", 2}}));
  auto f = jit([](Array a, Array b) {
    Array c = fori_loop(
        0, 3, [&](Array, Array v) { return v * 2 + b; }, a);
    return with_sharding_constraint(c, P("x", "y"));
  });
  EXPECT_EQ(f(ones({4, 4}), ones({4, 4})).sharding().text(), "<@mesh, [{\"x\"}, {\"y\"}]>");
  std::string dump =
      dump_shardings(f, std::tuple(abstract_array("f32[4,4]"), abstract_array("f32[4,4]")));
  EXPECT_THAT(dump, testing::Not(testing::HasSubstr("[{}, {}]"))) << dump;
}

// ---- arguments and results ----

TEST(Auto, ShardingAnswersInsideAutoAxesAtTopLevel) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  std::vector<std::string> seen;
  auto f = auto_axes(
      [&](Array a) {
        Array b = with_sharding_constraint(a + 1, P(None, "y"));
        seen = {a.sharding().text(), b.sharding().text(), (b * 2).sharding().text()};
        return b;
      },
      {.out_sharding = P("y")});
  Array out = f(reshard(ones({4, 4}), P("x")));
  EXPECT_THAT(seen, testing::ElementsAre("<@mesh, [{\"x\"}, {}]>", "<@mesh, [{}, {\"y\"}]>",
                                         "<@mesh, [{}, {\"y\"}]>"));
  EXPECT_EQ(type_of(out).text(), "f32[4@y,4]");
  EXPECT_EQ(out.to_vector<float>(), std::vector<float>(16, 2));
}

TEST(Auto, JitTracesAnewForArgumentsThatLieOtherwise) {
  MeshScope scope(AutoMesh({{"x", 2}}));
  int traces = 0;
  auto f = jit([&](Array a) {
    ++traces;
    return a * 2;
  });
  Array x = Numbers({4, 6});
  for (const PartitionSpec& spec : {P("x"), P(None, "x"), P("x")}) {
    Array placed = with_sharding_constraint(x, spec), out = f(placed);
    EXPECT_EQ(out.sharding(), placed.sharding());
    EXPECT_EQ(out.to_vector<float>(), (x * 2).to_vector<float>());
  }
  EXPECT_EQ(traces, 2);
}

// Neither the modes of the axes nor the source of the request matters.
TEST(Auto, ResultsKeepPartsOfAxesThatWereAskedFor) {
  const std::string wanted = R"(<@mesh, [{"x":(2)2}, {}]>)";
  for (AxisMode other : {Auto, Explicit}) {
    MeshScope scope(make_mesh({{"x", 4, Auto}, {"y", 2, other}}));
    const PartitionSpec spec = P(SubAxis("x", 2, 2));
    const auto mine = absl::c_count_if(local_devices(), [](int64_t d) { return d < 8; });
    const Array x = Numbers({6, 4});
    auto asks = [&](Array a) { return with_sharding_constraint(a * 2, spec); };
    auto twice = [](Array a) { return a * 2; };
    for (const Array& y : {asks(x), jit(asks)(x), jit(twice, {.out_shardings = spec})(x)}) {
      EXPECT_EQ(y.sharding().text(), wanted);
      EXPECT_EQ(y.to_vector<float>(), twice(x).to_vector<float>());
      EXPECT_EQ(sum(y, 0).to_vector<float>(), sum(x * 2, 0).to_vector<float>());
      EXPECT_EQ(jit(asks)(y).sharding().text(), wanted);
      EXPECT_EQ(static_cast<int64_t>(y.addressable_shards().size()), mine);
      EXPECT_FALSE(visualize_sharding(y).empty());
      EXPECT_EQ(to_text(y), to_text(twice(x)));
    }
  }
}

// A part that propagation put on an open dim does not leave the program.
TEST(Auto, ResultsDoNotGetPartsOfAxesThatNobodyAskedFor) {
  MeshScope scope(AutoMesh({{"x", 4}}));
  auto f = jit([](Array a) { return with_sharding_constraint(a, P(SubAxis("x", 1, 2))) + 1; });
  EXPECT_EQ(f(Numbers({6, 4})).sharding().text(), "<@mesh, [{}, {}]>");
}

TEST(Auto, DonatedArgumentsAreGone) {
  MeshScope scope(AutoMesh({{"x", 2}}));
  auto f = jit([](Array a) { return with_sharding_constraint(a + 1, P("x")); }, {.donate = {0}});
  for (const PartitionSpec& spec : {P("x"), P(None, "x"), P()}) {
    Array x = with_sharding_constraint(Numbers({4, 6}), spec);
    std::vector<float> want = (x + 1).to_vector<float>();
    EXPECT_EQ(f(x).to_vector<float>(), want) << spec.text();
    EXPECT_THROW(x + 1, TraceError);
  }
}

// The view's buffers were once taken for one per device.
TEST(Auto, AViewOfASharedArgumentIsSharedWhereCopiesAreMade) {
  MeshScope scope(make_mesh({{"x", 2}}));
  ReplicaSharing(false);
  Array x = array({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  Array y = jit([](Array a) { return reshard(a, P("x")) + 1; })(x);
  ReplicaSharing(true);
  EXPECT_EQ(y.to_vector<int>(), (std::vector<int>{2, 3, 4, 5, 6, 7}));
}

// ---- in_shardings and out_shardings of jit ----

TEST(JitShardings, RefuseAnArgumentThatLiesOtherwise) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  auto f = jit([](Array a) { return a + 1; }, {.in_shardings = P("x")});
  EXPECT_EQ(type_of(f(reshard(ones({4}), P("x")))).text(), "f32[4@x]");
  EXPECT_THROW(f(reshard(ones({4}), P("y"))), ShardingError);
}

TEST(JitShardings, PlaceAnArgumentOfNoMesh) {
  Array x = ones({4});
  MeshScope scope(make_mesh({{"x", 2}}));
  auto f = jit([](Array a) { return a + 1; }, {.in_shardings = P("x")});
  EXPECT_EQ(type_of(f(x)).text(), "f32[4@x]");
}

TEST(JitShardings, ReshardTheResults) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  auto f = jit([](Array a) { return std::pair(a + 1, a * 2); }, {.out_shardings = {P("y"), P()}});
  auto [b, c] = f(reshard(ones({4}), P("x")));
  EXPECT_EQ(type_of(b).text(), "f32[4@y]");
  EXPECT_EQ(type_of(c).text(), "f32[4]");
  EXPECT_EQ(b.to_vector<float>(), std::vector<float>(4, 2));
}

TEST(JitShardings, AreConstraintsOverAutoAxes) {
  MeshScope scope(AutoMesh({{"x", 2}, {"y", 2}}));
  auto f = jit([](Array a) { return a.T() + 1; },
               {.in_shardings = P("x"), .out_shardings = P(Open(), "y")});
  EXPECT_EQ(f(Numbers({4, 6})).sharding().text(), "<@mesh, [{}, {\"y\"}]>");
}

TEST(JitShardings, NeedAMeshThatHasTheAxes) {
  auto f = jit([](Array a) { return a + 1; }, {.out_shardings = P("w")});
  EXPECT_THROW(f(ones({4})), ShardingError);
  MeshScope scope(make_mesh({{"x", 2}}));
  EXPECT_THROW(f(ones({4})), ShardingError);
}

}  // namespace
}  // namespace tessera::suite::auto_test

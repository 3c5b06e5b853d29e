// Arrays in and out: host data, shards, printing, pictures, indexing, meshes.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <limits>
#include <span>
#include <sstream>

namespace tessera::array_test {
namespace {

// ---- one element of a sharded array -------------------------------------------------------------

TEST(OneElement, IsReadFromTheDeviceThatHasIt) {
  SetDeviceCount(8);
  const Array whole = arange(48.).reshape({8, 6});
  for (const auto& [nx, ny] : {std::pair(1, 1), {2, 1}, {2, 2}, {4, 2}, {2, 3}})
    for (const PartitionSpec& spec :
         {P("x", None), P(None, "y"), P("x", "y"), P({"y", "x"}, None)}) {
      MeshScope scope(make_mesh({{"x", nx}, {"y", ny}}));
      if (spec == P({"y", "x"}, None) && 8 % (nx * ny) != 0) continue;
      const Array x = reshard(whole, spec);
      SCOPED_TRACE(type_of(x).text());
      const auto last = jit([](Array v) { return v[{-1, -1}] + v[{3, 2}]; });
      EXPECT_EQ((x[{0, 0}].item<float>()), 0);
      EXPECT_EQ((x[{5, 4}].item<float>()), 34);
      EXPECT_EQ((x.at({7, 5}).get().item<float>()), 47);
      EXPECT_EQ(type_of(x[{1, 1}]).text(), "f32[]");
      EXPECT_EQ(last(x).item<float>(), 47 + 20);
      const Array slope = grad([](Array v) { return v[{2, 3}] * v[{2, 3}]; })(x);
      EXPECT_EQ(type_of(slope), type_of(x));
      EXPECT_EQ(sum(slope).item<float>(), 30);
      EXPECT_EQ((slope[{2, 3}].item<float>()), 30);
    }
  {
    // Parts of one axis that shard and are unreduced, or reduced.
    MeshScope scope(make_mesh({{"x", 4}}));
    const PartitionSpec rows = P(SubAxis("x", 1, 2), None);
    const auto square = [](Array v) { return v[{2, 3}] * v[{2, 3}]; };
    const Array terms = reshard(whole, rows.unreduced({SubAxis("x", 2, 2)}));
    EXPECT_EQ((reshard(terms[{5, 4}], P()).item<float>()), 34);
    const Array reduced = reshard(whole, rows.reduced({SubAxis("x", 2, 2)}));
    EXPECT_EQ((reshard(reduced[{5, 4}], P()).item<float>()), 34);
    EXPECT_EQ(sum(reshard(grad([&](Array v) { return reshard(square(v), P()); })(reduced), P()))
                  .item<float>(),
              30);
  }
  {
    MeshScope scope(abstract_mesh({{"x", 4}}));
    const auto one = jit([](Array v) { return v[{0, 0}]; });
    const Lowered lowered = one.lower(abstract_array("f32[1024@x,512]"));
    EXPECT_LE(lowered.comm().bytes(), 4 * 4) << lowered.comm().text();
    for (const CommEvent& event : lowered.comm().events()) EXPECT_TRUE(event.implied);
  }
  {
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
    const Array parts = reshard(whole, P("x", None).unreduced("y"));
    EXPECT_EQ(type_of(parts[{1, 2}]).text(), "f32[]{U:y}") << "as other slices";
    EXPECT_EQ((parts[{1, 2}].item<float>()), 8);
    const auto each = vmap([](Array row) { return row[{1}]; });
    EXPECT_EQ(each(reshard(whole, P("x", "y")))[{2}].item<float>(), 13);
  }
  SetDeviceCount(1);
}

using testing::ElementsAre;

std::string Print(const auto& x) {
  std::ostringstream os;
  os << x;
  return os.str();
}

TEST(HostData, BecomesArraysOfItsElementType) {
  std::vector<double> d{1, 2};
  std::vector<bool> b{true, false};
  int16_t raw[] = {1, 2, 3, 4};
  EXPECT_EQ(type_of(array(d)).text(), "f64[2]");
  EXPECT_EQ(type_of(array(b)).text(), "bool[2]");
  EXPECT_EQ(type_of(array(std::span<const int16_t>(raw), {.shape = Shape{2, 2}})).text(),
            "i16[2,2]");
  EXPECT_EQ(type_of(array({{1, 2, 3}, {4, 5, 6}})).text(), "i32[2,3]");
  EXPECT_EQ(type_of(array({1, 2.5})).text(), "f32[2]");
  EXPECT_EQ(type_of(Array(true)).text(), "bool[]");
}

TEST(Shards, SayWhereTheyLie) {
  SetDeviceCount(4);
  {
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}, {.device_ids = {3, 2, 1, 0}}));
    Array a = reshard(arange(8).reshape({4, 2}), P("x", None));
    std::vector<Shard> shards = a.addressable_shards();
    ASSERT_EQ(shards.size(), 4u);
    EXPECT_EQ(shards[0].device(), 3);
    EXPECT_EQ(shards[2].index()[0].begin, 2);
    EXPECT_THAT(shards[2].data<int>(), ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(shards[3].shape(), ElementsAre(2, 2));
    EXPECT_THROW(shards[0].data<float>(), DTypeError);
    EXPECT_EQ(a.sharding().text(), R"(<@mesh, [{"x"}, {}]>)");
    EXPECT_EQ(visualize_sharding(a, {.color = false}),
              "i32[4@x,2]\n+------+\n| 2,3  |\n+------+\n| 0,1  |\n+------+\n");
  }
  SetDeviceCount(1);
}

TEST(Printing, AbbreviatesAndAligns) {
  EXPECT_EQ(Print(array({{1, -2}, {30, 4}})), "i32[2,2]\n[[ 1, -2],\n [30,  4]]");
  EXPECT_EQ(Print(Array(0.5)), "f32[] 0.5");
  EXPECT_EQ(Print(arange(2000)), "i32[2000]\n[   0,    1,    2, ..., 1997, 1998, 1999]");
  EXPECT_EQ(Print(zeros({0, 3})), "f32[0,3]\n[]");
  EXPECT_EQ(Print(abstract_array("f32[3]")), "abstract f32[3]");
}

TEST(Printing, NaNHasNoSign) {
  EXPECT_EQ(Print(array({-std::numeric_limits<float>::quiet_NaN(), -0.0F})), "f32[2]\n[nan,  -0]");
}

TEST(HostData, OfAbstractArraysIsRefusedBeforeMemoryIsTaken) {
  MeshScope scope(abstract_mesh({{"data", 64}}));
  EXPECT_THROW(abstract_array("f32[10000000@data,1000000]").to_vector<float>(), TraceError);
}

TEST(Meshes, PrintAndNest) {
  Mesh outer = abstract_mesh({{"x", 2}, {"y", 4}}), inner = outer.with_mode("y", Auto);
  EXPECT_EQ(outer.text(), R"(<["x"=2, "y"=4]>)");
  EXPECT_TRUE(current_mesh().empty());
  {
    MeshScope a(outer);
    {
      MeshScope b(inner);
      EXPECT_EQ(current_mesh().mode("y"), Auto);
    }
    EXPECT_EQ(current_mesh(), outer);
  }
  EXPECT_EQ(abstract_mesh({{"x", 2}}, {.device_ids = {0, 1}}), abstract_mesh({{"x", 2}}));
}

// Over Explicit axes `replicated` says nothing that leaving the axis out does not.
TEST(Types, AreTheSameWithAndWithoutReplicatedAxes) {
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2, Auto}}));
  Array a = abstract_array("f32[8]");
  EXPECT_EQ(type_of(reshard(a, P().replicated("x"))), type_of(reshard(a, P())));
  EXPECT_THROW(reshard(a, P().replicated("y")), ShardingError);
}

TEST(Meshes, SeveralInOneProgram) {
  SetDeviceCount(4);
  {
    Mesh flat = make_mesh({{"d", 4}}), square = make_mesh({{"x", 2}, {"y", 2}}),
         turned = make_mesh({{"d", 4}}, {.device_ids = {2, 3, 0, 1}});
    MeshScope scope(flat);
    Array a = reshard(arange(16).reshape({4, 4}), P("d", None));
    Array b = reshard(a, Sharding(square, P("x", "y")));
    Array c = reshard(a, Sharding(turned, P("d", None)));
    EXPECT_EQ(type_of(b).text(), "i32[4@x,4@y]");
    EXPECT_EQ(b.to_vector<int>(), a.to_vector<int>());
    EXPECT_EQ(c.to_vector<int>(), a.to_vector<int>());
    EXPECT_EQ(c.addressable_shards()[0].device(), 2);
    EXPECT_THROW(a + b, ShardingError);
  }
  SetDeviceCount(1);
}

TEST(Arange, CountsToTheEndsOfItsDType) {
  EXPECT_EQ(arange(-128, 128, 51, {.dtype = i8}).to_vector<int8_t>(),
            (std::vector<int8_t>{-128, -77, -26, 25, 76, 127}));
  EXPECT_THAT(arange(-1.5, 127.5, {.dtype = i8}).shape(), ElementsAre(129));
}

TEST(Indexing, FollowsNumPy) {
  Array a = arange(24).reshape({2, 3, 4});
  EXPECT_THAT((a[{1, 2}].to_vector<int>()), ElementsAre(20, 21, 22, 23));
  EXPECT_THAT((a[{Ellipsis, -1}].to_vector<int>()), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_THAT((a[{0, All, 1}].to_vector<int>()), ElementsAre(1, 5, 9));
  EXPECT_THAT((a[{0, 0, Slice(None, None, -2)}].to_vector<int>()), ElementsAre(3, 1));
  EXPECT_THAT((a[{0, 0, Slice(1, 100, 2)}].to_vector<int>()), ElementsAre(1, 3));
  EXPECT_THAT((a[{None, 0, None}].shape()), ElementsAre(1, 1, 3, 4));
}

TEST(Indexing, SmallIndexDTypesReachLargeDims) {
  Array start = full({}, -1, {.dtype = i8});
  EXPECT_THAT(dynamic_slice(arange(200), {start}, {1}).to_vector<int>(), ElementsAre(199));
}

TEST(Operators, MeanWhatNumPysMean) {
  Array a = array({7, -7}), b = array({2, 2});
  EXPECT_THAT((a / b).to_vector<double>(), ElementsAre(3.5, -3.5));
  EXPECT_THAT((a % b).to_vector<int>(), ElementsAre(1, 1));
  EXPECT_THAT((a >> 1).to_vector<int>(), ElementsAre(3, -4));
  EXPECT_THAT((array({255}, {.dtype = u8}) >> 1).to_vector<int>(), ElementsAre(127));
  EXPECT_EQ(type_of(2 * astype(a, bf16)).text(), "bf16[2]");
  EXPECT_EQ(type_of(a + 0.5).text(), "f32[2]");
  EXPECT_TRUE(all(a == a).item<bool>());
}

TEST(ReplicaSharing, GivesTheSameBits) {
  SetDeviceCount(4);
  {
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
    auto f = [](Array a) {
      return matmul(softmax(a), ones({4, 4}), {.out_sharding = P("x", None)});
    };
    auto input = [] { return reshard(sin(arange(16.0).reshape({4, 4})), P("x", "y")); };
    auto shared = jit(f)(input()).to_vector<float>();
    ReplicaSharing(false);
    Array copies = jit(f)(input());
    ReplicaSharing(true);
    EXPECT_EQ(copies.to_vector<float>(), shared);
    EXPECT_NE(copies.addressable_shards()[0].data<float>().data(),
              copies.addressable_shards()[1].data<float>().data());
    EXPECT_EQ((copies + 0.0).to_vector<float>(), shared) << "mixed with what shares";
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::array_test

// What reads a sharded dim by position exchanges the parts that its shards lack, and no more.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera {
namespace {

using testing::ElementsAre;

Array Numbers(Shape shape) {
  int64_t n = 1;
  for (int64_t size : shape.dims()) n *= size;
  return reshape(arange(n, {.dtype = f32}), shape);
}

struct Case {
  std::string name;
  Shape shape;
  PartitionSpec in;
  std::string type;  // of the result
  std::function<Array(Array)> f;
  int64_t bytes;  // that the device which gets most gets
};

std::vector<Case> Cases() {
  return {
      {"slice",
       {16, 6},
       P("x", None),
       "f32[12@x,6]",
       [](Array a) {
         return slice(a, {2, 0}, {14, 6});
       },
       1 * 6 * 4},
      {"strided slice",
       {32},
       P("x"),
       "f32[16@x]",
       [](Array a) { return slice(a, {0}, {32}, {2}); },
       0},
      {"pad",
       {16},
       P("x"),
       "f32[20@x]",
       [](Array a) {
         return pad(a, {{2, 2}}, 7);
       },
       1 * 4},
      {"pad between",
       {8, 4},
       P("x", "y"),
       "f32[20@x,4@y]",
       [](Array a) {
         return pad(a, {{4, 1, 1}, {0, 0}}, 0.5);
       },
       1 * 2 * 4},
      {"roll",
       {16, 6},
       P("y", None),
       "f32[16@y,6]",
       [](Array a) {
         return auto_axes([](Array b) { return roll(b, 3, 0); },
                          {.axes = {"x", "y"}, .out_sharding = P("y", None)})(a);
       },
       3 * 6 * 4},
      {"rev", {16}, P("x"), "f32[16@x]", [](Array a) { return rev(a, {0}); }, 4 * 4},
      {"concatenate",
       {8},
       P("x"),
       "f32[16@x]",
       [](Array a) {
         return concatenate(std::vector<Array>{a, a}, 0);
       },
       4 * 4},
  };
}

TEST(Halo, SendsOnlyWhatShardsLack) {
  SetDeviceCount(8);
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.name);
    Array whole = Numbers(c.shape);
    auto f = jit([&](Array a) { return c.f(a); });
    Array got, want;
    {
      MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
      Array a = reshard(whole, c.in);
      CommReport comm = f.lower(a).comm();
      EXPECT_EQ(comm.count(CommKind::kHaloExchange), c.bytes ? 1 : 0);
      EXPECT_EQ(comm.bytes(), c.bytes) << comm;
      got = f(a);
      EXPECT_EQ(testing::PrintToString(type_of(got)), c.type);
    }
    MeshScope one(make_mesh({{"x", 1}, {"y", 1}}));
    want = f(whole);
    EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>());
  }
}

// The program of docs/propagation.md.
TEST(Halo, StencilsSendTheirEdges) {
  SetDeviceCount(8);
  auto heat = jit([](Array u) {
    u = with_sharding_constraint(u, P("x", "y"));
    auto step = [](Array, Array v) {
      return v + 0.1 * (roll(v, 1, 0) + roll(v, -1, 0) + roll(v, 1, 1) + roll(v, -1, 1) - 4 * v);
    };
    return fori_loop(0, 100, step, u);
  });
  Array u = Numbers({16, 24});
  std::vector<float> got;
  {
    MeshScope scope(make_mesh({{"x", 2, Auto}, {"y", 4, Auto}}));
    CommReport comm = heat.lower(abstract_array("f32[2048,2048]")).comm();
    EXPECT_EQ(comm.count(CommKind::kHaloExchange, "x"), 200) << comm;
    EXPECT_EQ(comm.count(CommKind::kHaloExchange, "y"), 200) << comm;
    EXPECT_EQ(comm.bytes(), 100 * 2 * (1024 + 512) * 4) << comm;
    got = heat(u).to_vector<float>();
  }
  MeshScope one(make_mesh({{"x", 1, Auto}, {"y", 1, Auto}}));
  EXPECT_EQ(got, heat(u).to_vector<float>());
}

// What is padded with is partial like the operand: of all devices one adds it.
TEST(Halo, PadsPartialValues) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
  Array a = reshard(Numbers({8, 6}), P("x", "y"));
  Array sums = einsum("ij->i", {a}, {.out_sharding = P("x").unreduced("y")});
  Array got = reshard(pad(sums, {{1, 3}}, 0), P(None));
  EXPECT_THAT(got.to_vector<float>(), ElementsAre(0, 15, 51, 87, 123, 159, 195, 231, 267, 0, 0, 0));
}

// A piece that is empty on some devices, and a result that is.
TEST(Halo, LeavesDevicesWithoutElements) {
  SetDeviceCount(8);
  MeshScope scope(make_mesh({{"x", 8, Auto}}));
  auto f = jit([](Array a) {
    a = with_sharding_constraint(a, P("x"));
    Array first = with_sharding_constraint(slice(a, {13}, {16}), P("x"));
    return concatenate(std::vector<Array>{first, slice(a, {0}, {0}), rev(first, {0})}, 0);
  });
  EXPECT_THAT(f(arange(16, {.dtype = f32})).to_vector<float>(),
              ElementsAre(13, 14, 15, 15, 14, 13));
}

}  // namespace
}  // namespace tessera

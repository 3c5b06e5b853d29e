// Ops that read a sharded dim by position exchange only the elements that a shard lacks.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <array>
#include <random>

namespace tessera::halo_test {
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
       [](Array a) { return roll(a, 3, 0); },
       3 * 6 * 4},
      {"pad by as much as it cuts",
       {16, 6},
       P("x", None),
       "f32[16@x,6]",
       [](Array a) {
         return pad(a, {{1, -1}, {0, 0}}, 7);
       },
       1 * 6 * 4},
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

// The sum of a point's nine neighbours, each a pad of rows and columns at once.
Array Neighbours(const Array& u) {
  Array sum = u;
  for (int64_t i : {1, 0, -1})
    for (int64_t j : {1, 0, -1})
      if (i != 0 || j != 0) sum = sum + pad(u, {{i, -i}, {j, -j}}, 7);
  return sum;
}
// The same function as slices of one padded array.
Array Sliced(const Array& u) {
  const int64_t rows = u.shape(0), columns = u.shape(1);
  const Array padded = pad(u, {{1, 1}, {1, 1}}, 7);
  Array sum = u;
  for (int64_t i : {0, 1, 2})
    for (int64_t j : {0, 1, 2})
      if (i != 1 || j != 1) sum = sum + padded[{Slice(i, i + rows), Slice(j, j + columns)}];
  return sum;
}

// All columns of a row are read from one copy of it: the rows above and below are sent once.
TEST(Halo, NeighboursShareTheirRows) {
  SetDeviceCount(8);
  struct {
    PartitionSpec spec;
    Array (*f)(const Array&);
    int64_t exchanges, bytes;
  } const cases[] = {
      {P("x", None), Neighbours, 2, 2 * 12 * 4},
      {P(None, "x"), Neighbours, 2, 2 * 16 * 4},
      // Rows of 6, and of 3 such blocks of 4 rows the columns left and right.
      {P("x", "y"), Neighbours, 8, 2 * 6 * 4 + 3 * 2 * 4 * 4},
      {P("y", None), Sliced, 2, 2 * 14 * 4},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.spec.text());
    const auto f = jit([&](Array u) { return c.f(u); });
    const Array u = Numbers({16, 12});
    std::vector<float> got;
    {
      MeshScope scope(make_mesh({{"x", 4}, {"y", 2}}));
      const CommReport comm = f.lower(reshard(u, c.spec)).comm();
      EXPECT_EQ(comm.count(CommKind::kHaloExchange), c.exchanges) << comm;
      EXPECT_EQ(comm.bytes(), c.bytes) << comm;
      got = f(reshard(u, c.spec)).to_vector<float>();
    }
    EXPECT_EQ(got, f(u).to_vector<float>());
  }
}

// Sums of pads and slices of one array by random amounts, as on one device.
TEST(Halo, RandomNeighboursAgree) {
  SetDeviceCount(8);
  std::mt19937 random(1);
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE(trial);
    std::vector<std::array<int64_t, 3>> shifts;
    for (int64_t k = 2 + below(5); k > 0; --k)
      shifts.push_back({below(5) - 2, below(5) - 2, below(3)});
    const bool sine = below(2) == 1;
    const auto f = jit([&](Array u) {
      Array sum = u * 0;
      const Array wide = pad(u, {{2, 2}, {2, 2}, {0, 0}}, -3);
      for (const auto& [i, j, way] : shifts) {
        Array part = pad(u, {{i, -i}, {j, -j}, {way - 1, 1 - way}}, 5);
        if (way == 2) part = wide[{Slice(i + 2, i + 10), Slice(j + 2, j + 10)}];
        sum = sum + (sine ? part : cumsum(part, 2));
      }
      return sum;
    });
    const Array u = Numbers({8, 8, 4});
    const std::vector<float> want = f(u).to_vector<float>();
    const std::vector<std::vector<DimSharding>> specs = {
        {"x", "y", None}, {"y", "x", None}, {None, "x", None}, {"y", None, "x"}, {"x", None, None}};
    const PartitionSpec spec(specs[static_cast<size_t>(below(5))]);
    for (AxisMode mode : {Explicit, Auto}) {
      MeshScope scope(make_mesh({{"x", 4, mode}, {"y", 2, mode}}));
      const auto placed = [&](Array v) {
        return mode == Auto ? with_sharding_constraint(v, spec) : reshard(v, spec);
      };
      const auto on_devices = jit([&](Array v) { return f(placed(v)); });
      try {
        EXPECT_EQ(on_devices(u).to_vector<float>(), want);
      } catch (const ShardingError&) {
        EXPECT_EQ(mode, Explicit);  // some need a whole dim, or sizes that divide
      }
    }
  }
}

// Types do not depend on the number of shards: an op that keeps a dim's size keeps its sharding.
// The report and policies see the halo exchange.
TEST(Halo, ExplicitStencilsDependOnNoSize) {
  SetDeviceCount(6);
  auto heat = jit([](Array u) {
    auto step = [](Array, Array v) {
      return v + 0.1 * (roll(v, 1, 0) + roll(v, -1, 0) + roll(v, 5, 1) + roll(v, -1, 1) - 4 * v);
    };
    return fori_loop(0, 3, step, u);
  });
  const Array u = Numbers({12, 8});
  const std::vector<float> want = heat(u).to_vector<float>();
  MeshScope scope(make_mesh({{"x", 3}, {"y", 2}}));
  const Array placed = reshard(u, P("x", "y"));
  const Array got = heat(placed);
  EXPECT_EQ(type_of(got).text(), "f32[12@x,8@y]");
  EXPECT_EQ(got.to_vector<float>(), want);
  const CommReport comm = heat.lower(placed).comm();
  EXPECT_EQ(comm.count(CommKind::kHaloExchange, "x"), 6) << comm;
  for (const CommEvent& e : comm.events()) EXPECT_TRUE(e.implied) << comm;
  CommPolicy none({.bytes = 1});
  EXPECT_THROW(heat.lower(placed), ShardingError);
}

// The gradient of a roll is the roll back, and of a padded piece the piece.
TEST(Halo, ExplicitStencilsHaveGradients) {
  SetDeviceCount(3);
  MeshScope scope(make_mesh({{"x", 3}}));
  const Array u = reshard(Numbers({9}), P("x"));
  const auto f = [](Array v) { return sum(arange(9) * (roll(v, 2, 0) + pad(v, {{1, -1}}))); };
  const Array g = grad(f)(u);
  EXPECT_EQ(type_of(g).text(), "f32[9@x]");
  EXPECT_THAT(g.to_vector<float>(), ElementsAre(3, 5, 7, 9, 11, 13, 15, 8, 1));
}

// The padding value is partial like the operand: only one of the devices adds it.
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
}  // namespace tessera::halo_test

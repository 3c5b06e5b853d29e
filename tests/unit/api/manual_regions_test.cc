// Loops, branches and calls inside of shard_map, of arrays of the outside and in compiled programs.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <functional>

namespace tessera::manual_regions_test {
namespace {

using testing::ElementsAre;

std::vector<double> Numbers(const Array& x) { return x.astype(f64).to_vector<double>(); }

class ManualRegions : public testing::Test {
 protected:
  void SetUp() override { SetDeviceCount(4); }
};

struct Region {
  const char* name;
  Array (*f)(const Array& w, const Array& v);
  std::vector<double> values, gradient;  // where v is 0, 1, 2, 3 and w is 2; by w of their sum
};

Array Keep(Array u) { return u; }

const std::vector<Region>& Regions() {
  static const std::vector<Region> regions = {
      {"captured by a loop",
       [](const Array& w, const Array& v) {
         return fori_loop(
             0, 3, [&](Array, Array u) { return u * w; }, v);
       },
       {0, 8, 16, 24},
       {72}},
      {"carried",
       [](const Array& w, const Array& v) {
         return v + fori_loop(
                        0, 3, [](Array, Array u) { return u * 2; }, w);
       },
       {16, 17, 18, 19},
       {32}},
      {"stepped over",
       [](const Array& w, const Array& v) {
         auto add = [](Array sum, Array x) { return std::pair(sum + x, None); };
         return v + scan(add, w, broadcast_to(w, {3})).first;
       },
       {8, 9, 10, 11},
       {16}},
      {"captured by a branch",
       [](const Array& w, const Array& v) {
         return cond(
             psum(sum(v), "x") > 3, [&](Array u) { return u * w; }, Keep, v);
       },
       {0, 2, 4, 6},
       {6}},
      {"given to a branch",
       [](const Array& w, const Array& v) {
         return cond(
             psum(sum(v), "x") > 3, [](Array u, Array w) { return u * w; },
             [](Array u, Array) { return u; }, v, w);
       },
       {0, 2, 4, 6},
       {6}},
      {"chooses, and is captured where devices choose",
       [](const Array& w, const Array& v) {
         return cond(
             w < 3,
             [&](Array u) {
               return cond(
                   axis_index("x") < 2, [&](Array u) { return u * w; }, Keep, u);
             },
             Keep, v);
       },
       {0, 2, 2, 3},
       {1}},
      {"captured by a checkpoint",
       [](const Array& w, const Array& v) {
         return checkpoint([&](Array u) { return u * w * w; })(v);
       },
       {0, 4, 8, 12},
       {24}},
      {"pulled back to",
       [](const Array& w, const Array& v) {
         auto [value, pull] = vjp([](Array w) { return w * w; }, w);
         return v * pull(w) + value;
       },
       {4, 12, 20, 28},
       {64}},
      {"captured by a loop in a loop",
       [](const Array& w, const Array& v) {
         auto inner = [&](Array u) {
           return fori_loop(
               0, 2, [&](Array, Array u) { return u * w; }, u);
         };
         return fori_loop(
             0, 2, [&](Array, Array u) { return inner(u) + w; }, v);
       },
       {10, 26, 42, 58},
       {244}},
  };
  return regions;
}

TEST_F(ManualRegions, UseArraysOfTheOutside) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const Array w = reshard(Array(2.0f), P()), a = reshard(arange(4.0), P("x"));
  for (const Region& region : Regions()) {
    SCOPED_TRACE(region.name);
    const auto f = [&](Array w, Array a) {
      return shard_map([&](Array v) { return region.f(w, v); }, {.out_specs = P("x")})(a);
    };
    EXPECT_EQ(Numbers(f(w, a)), region.values);
    EXPECT_EQ(Numbers(jit(f)(w, a)), region.values);
    const auto loss = [&](Array w, Array a) { return sum(f(w, a)); };
    EXPECT_EQ(Numbers(grad(loss)(w, a)), region.gradient);
    EXPECT_EQ(Numbers(jit(grad(loss))(w, a)), region.gradient);
  }
}

TEST_F(ManualRegions, BringInAnArrayOnce) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const auto f = shard_map(
      [w = reshard(Array(2.0f), P())](Array v) {
        return cond(
            axis_index("x") < 2, [&](Array u) { return u * w + w * w; }, Keep, v);
      },
      {.out_specs = P("x")});
  const std::string text = jit(f).trace(reshard(arange(4.0), P("x"))).text();
  size_t casts = 0;
  for (size_t at = 0; (at = text.find("pcast", at)) != std::string::npos; ++at) ++casts;
  EXPECT_EQ(casts, 1U) << text;
}

// All devices run a branch with a collective over axis y, even if only some choose it. Its operands
// are cast to varying only as far as the collective requires.
TEST_F(ManualRegions, ThatNeedOthersVaryAsLittleAsTheyMay) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  std::string type;
  const auto f = shard_map(
      [&](Array v) {
        Array rows = psum(v, "y");
        Array chosen = cond(
            axis_index("x") < 1, [](Array c) { return psum(c, "y"); }, Keep, rows);
        type = type_of(chosen).text();
        return chosen;
      },
      {.out_specs = P("x")});
  EXPECT_THAT(Numbers(f(reshard(arange(4.0), P({"x", "y"})))), ElementsAre(2, 5));
  EXPECT_EQ(type, "f32[1]{V:x}");
}

TEST_F(ManualRegions, ThatNeedOthersAreTracedOnce) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  int calls = 0;
  std::function<Array(Array, int)> nested = [&](Array v, int depth) -> Array {
    if (depth == 0) return ++calls, v + psum(v, "y");
    return while_loop([](Array u) { return sum(u) < 100; },
                      [&](Array u) { return nested(u, depth - 1) + 1; }, v);
  };
  const auto f = shard_map([&](Array v) { return nested(psum(v, "y"), 5); }, {.out_specs = P("x")});
  jit(f).trace(reshard(arange(4.0), P({"x", "y"})));
  EXPECT_LE(calls, 2);
}

TEST_F(ManualRegions, WithoutResultsAct) {
  MeshScope scope(make_mesh({{"x", 4}}));
  int calls = 0;
  const auto look = [&](Array) { ++calls; };
  const Array a = reshard(arange(4.0), P("x"));
  const auto seen = [&](Array u) { return debug_callback(look, {u}), None; };
  const auto each = shard_map([&](Array v) { return cond(axis_index("x") < 3, seen, seen, v), v; },
                              {.out_specs = P("x")});
  each(a);
  EXPECT_EQ(std::exchange(calls, 0), 4);
  jit(each)(a);
  EXPECT_EQ(std::exchange(calls, 0), 4);
  jit([&](Array v) { return checkpoint(seen)(v), v; })(a);
  EXPECT_EQ(std::exchange(calls, 0), 1);
  jit([&](Array v) {
    return cond(
               sum(v) > 0, seen, [](Array) { return None; }, v),
           v;
  })(a);
  EXPECT_EQ(calls, 1);
}

TEST_F(ManualRegions, OfBranchesThatNeedOthersUseAKeyOnce) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const KeyReuseCheck check;
  const auto f = shard_map(
      [](Array v) {
        const Array key = random::key(0);
        auto draw = [&](Array u) { return psum(u + random::uniform(key, {1}), "y"); };
        return cond(axis_index("x") < 1, draw, draw, v);
      },
      {.out_specs = P("x")});
  jit(f)(reshard(arange(4.0), P({"x", "y"})));
}

// A collective along a dim that is also sharded over an Auto axis keeps that sharding, unless
// propagation changes it.
TEST_F(ManualRegions, CollectivesAlongDimsOverAutoAxes) {
  const Array whole = arange(8.0);
  using Collective = std::function<Array(Array)>;
  const std::vector<std::pair<Collective, Array>> cases = {
      {[](Array v) { return psum_scatter(v, "x", {.tiled = true}); },
       whole[{Slice(None, 4)}] + whole[{Slice(4, None)}]},
      {[](Array v) { return all_gather(v, "x", {.tiled = true}); }, concatenate({whole, whole})},
      {[](Array v) { return all_to_all(v, "x", 0, 0, {.tiled = true}); },
       reshape(transpose(reshape(whole, {2, 2, 2}), {1, 0, 2}), {8})}};
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2, Auto}}));
  const Array a = reshard(whole, P("x"));
  for (const auto& one : cases)
    for (const bool before : {true, false}) {
      const Collective& f = one.first;
      const auto mapped = shard_map(
          [&](Array v) {
            if (before) return f(with_sharding_constraint(v, P("y")));
            return with_sharding_constraint(f(v), P("y"));
          },
          {.in_specs = P("x"), .out_specs = P("x"), .axes = "x"});
      EXPECT_EQ(Numbers(mapped(a)), Numbers(one.second));
      EXPECT_EQ(Numbers(jit(mapped)(a)), Numbers(one.second));
    }
}

// The step after a loop may take over the buffer of a carry only if no other device reads it.
TEST_F(ManualRegions, WhatALoopCarriedIsPermutedAndUsed) {
  MeshScope scope(make_mesh({{"x", 4}}));
  const auto f = shard_map(
      [](Array v) {
        const Array l = fori_loop(
            0, 2, [](Array, Array u) { return u * 10; }, v);
        return pshift(l, "x", 1) + 2 * l;
      },
      {.out_specs = P("x")});
  const Array a = reshard(arange(4.0), P("x"));
  EXPECT_THAT(Numbers(jit(f)(a)), ElementsAre(300, 200, 500, 800));
}

}  // namespace
}  // namespace tessera::manual_regions_test

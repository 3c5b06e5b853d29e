// Laws of projection and of local shapes, on random tensors.
#include <numeric>

#include "fuzz.h"
#include "sharding/project.h"
#include "sharding/text.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

using testing::Random;

// Splits or joins dims at random.
Shape Reshaped(Random& random, const Shape& shape) {
  Shape out;
  for (int64_t size : shape) {
    if (!out.empty() && random.Chance(30)) {
      out.back() *= size;
    } else if (size % 2 == 0 && random.Chance(40)) {
      out.push_back(2);
      out.push_back(size / 2);
    } else {
      out.push_back(size);
    }
  }
  return out;
}

TEST(Laws, ProjectThenUnprojectIsTheIdentity) {
  Random random(3);
  int compared = 0;
  for (int64_t round = FuzzCount(4000); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    Shape shape = random.SomeShape(3), other = Reshaped(random, shape);
    DimMap map = ReshapeMap(shape, other);
    TensorSharding s = random.Sharding(mesh, shape, /*parts=*/true);
    Projection p = Project(map, map.operands[0], s, AxisCut::kAllowed);
    if (!p.lost.empty()) continue;
    ++compared;
    EXPECT_EQ(Text(Unproject(map, map.operands[0], p.axes, mesh)), Text(s)) << Text(map);
  }
  EXPECT_GT(compared, 2000);
}

TEST(Laws, WhatPassesAReshapeComesBack) {
  Random random(4);
  for (int64_t round = FuzzCount(4000); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    Shape shape = random.SomeShape(3), other = Reshaped(random, shape);
    DimMap map = ReshapeMap(shape, other);
    TensorSharding s = random.Sharding(mesh, shape, /*parts=*/true);
    Projection p = Project(map, map.operands[0], s, AxisCut::kAllowed);
    bool dropped = false;
    TensorSharding there = Unproject(map, map.results[0], p.axes, mesh, &dropped);
    if (!p.lost.empty() || dropped) continue;
    Projection back = Project(map, map.results[0], there, AxisCut::kAllowed);
    EXPECT_EQ(Text(Unproject(map, map.operands[0], back.axes, mesh)), Text(s))
        << Text(map) << " by " << Text(there);
  }
}

TEST(Laws, LocalSizesMultiplyUp) {
  Random random(5);
  for (int64_t round = FuzzCount(2000); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    Shape shape = random.SomeShape(3), local;
    TensorSharding s = random.Sharding(mesh, shape, true);
    local = LocalShape(shape, s);
    for (size_t d = 0; d < shape.size(); ++d)
      EXPECT_EQ(local[d] * SizeOf(s.dims[d].axes), shape[d]) << Text(s);
  }
}

TEST(Laws, SizesThatDoNotDivideRoundUp) {
  const MeshDef* mesh = testing::MeshOf("x=4");
  for (int64_t n : {0, 1, 3, 4, 5})
    EXPECT_EQ(LocalShape({n}, testing::Dims(mesh, "{x}"))[0], (n + 3) / 4);
}

// Every shard is on the same number of devices: all devices divided by the number of shards.
TEST(Laws, ShardsCoverTheWholeEvenly) {
  Random random(6);
  for (int64_t round = FuzzCount(500); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    Shape shape = random.SomeShape(2);
    TensorSharding s = random.Sharding(mesh, shape, true);
    AxisList varying = VaryingAxes(s);
    std::vector<int64_t> holders(static_cast<size_t>(SizeOf(varying)));
    for (int64_t i = 0; i < mesh->size(); ++i)
      ++holders[static_cast<size_t>(ShardIndex(*mesh, varying, i))];
    EXPECT_THAT(holders, ::testing::Each(mesh->size() / SizeOf(varying))) << Text(s);
  }
}

TEST(Laws, ShardIndexIsWhatItWasSetTo) {
  Random random(7);
  for (int64_t round = FuzzCount(500); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    AxisList axes = random.Pieces(mesh, true);
    axes.resize(static_cast<size_t>(1 + random.Below(static_cast<int64_t>(axes.size()))));
    int64_t device = random.Below(mesh->size()), shard = random.Below(SizeOf(axes));
    EXPECT_EQ(ShardIndex(*mesh, axes, WithShardIndex(*mesh, axes, device, shard)), shard);
  }
}

TEST(Laws, TextPrintsAndParses) {
  Random random(8);
  for (int64_t round = FuzzCount(2000); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    TensorSharding s = random.Sharding(mesh, random.SomeShape(3), true, /*unreduced=*/true);
    if (random.Chance(30)) std::swap(s.replicated, s.unreduced);
    if (!s.unreduced.empty()) s.kind = static_cast<Reduction>(random.Below(3));
    for (DimAxes& d : s.dims) {
      d.open = random.Chance(30);
      if (d.open || !d.axes.empty()) d.priority = static_cast<int32_t>(random.Below(3)) - 1;
    }
    EXPECT_EQ(Text(ParseSharding(Text(s), mesh, Loc::Unknown())), Text(s));
    EXPECT_EQ(ParseSharding(Text(s), mesh, Loc::Unknown()), s);
    EXPECT_EQ(Resolve(ToSpec(s), mesh, s.rank()).sharding, s) << ToSpec(s).text();
  }
}

}  // namespace
}  // namespace tessera::sharding

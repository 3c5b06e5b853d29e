// Reshard plans reach their target by legal steps, and never cost more than Shardy's sequences.
#include <fmt/format.h>

#include "fuzz.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

using testing::Dims;
using testing::MeshOf;
using testing::Random;

AxisList Whole(const TensorSharding& s) {
  AxisList all = VaryingAxes(s);
  SortAndMerge(all);
  return all;
}

bool EveryDim(const TensorSharding& a, const TensorSharding& b,
              bool (*f)(const AxisList&, const AxisList&)) {
  for (size_t d = 0; d < a.dims.size(); ++d)
    if (!f(a.dims[d].axes, b.dims[d].axes)) return false;
  return true;
}

// Returns the fault of a step; empty if it does its kind of move.
std::string Illegal(const Shape& shape, const TensorSharding& from, const ReshardStep& step) {
  const TensorSharding& to = step.after;
  bool same_set = from.unreduced == to.unreduced;
  switch (step.kind) {
    case StepKind::kAllSlice:
      return same_set &&
                     EveryDim(from, to,
                              [](const AxisList& a, const AxisList& b) { return IsPrefix(a, b); })
                 ? ""
                 : "a slice only adds minor axes";
    case StepKind::kAllGather:
      return same_set &&
                     EveryDim(to, from,
                              [](const AxisList& a, const AxisList& b) { return IsPrefix(a, b); })
                 ? ""
                 : "a gather only drops minor axes";
    case StepKind::kAllToAll:
      return same_set && Whole(from) == Whole(to) &&
                     LocalElements(shape, from) == LocalElements(shape, to)
                 ? ""
                 : "an all_to_all keeps the axes and the size";
    case StepKind::kCollectivePermute:
      return same_set && LocalShape(shape, from) == LocalShape(shape, to)
                 ? ""
                 : "a permute keeps local shapes";
    case StepKind::kAllReduce:
      return Difference(to.unreduced, from.unreduced).empty() && !same_set && from.dims == to.dims
                 ? ""
                 : "an all_reduce only drops unreduced axes";
    case StepKind::kReduceScatter:
      return Whole(from) == Whole(to) && !same_set
                 ? ""
                 : "a reduce_scatter turns an unreduced axis into a dim's";
    default:
      return Difference(from.unreduced, to.unreduced).empty() && !same_set
                 ? ""
                 : "it only adds unreduced axes";
  }
}

TEST(Reshard, ArrivesByLegalSteps) {
  Random random(9);
  for (int64_t round = FuzzCount(3000); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    Shape shape = random.SomeShape(3);
    TensorSharding from = random.Sharding(mesh, shape, true, true),
                   to = random.Sharding(mesh, shape, true, true), at = from;
    SCOPED_TRACE(fmt::format("[{}] {} to {}", fmt::join(shape, ","), Text(from), Text(to)));
    for (const ReshardStep& step : PlanReshard(shape, 4, from, to)) {
      ASSERT_EQ(Illegal(shape, at, step), "")
          << Name(step.kind) << " of " << Text(at) << " gives " << Text(step.after);
      at = step.after;
    }
    ASSERT_EQ(Text(at), Text(to));
  }
}

// No placement on the way is larger than both ends, unless sizes have no common divisor to move by.
TEST(Reshard, HoldsNoMoreThanTheEnds) {
  Random random(10);
  for (int64_t round = FuzzCount(3000); round > 0; --round) {
    const MeshDef* mesh = MeshOf(round % 2 ? "x=2 y=4" : "x=2 y=2 z=2");
    Shape shape{16, 32, 64};
    TensorSharding from = random.Sharding(mesh, shape, true),
                   to = random.Sharding(mesh, shape, true);
    int64_t most = std::max(LocalElements(shape, from), LocalElements(shape, to));
    for (const ReshardStep& step : PlanReshard(shape, 4, from, to))
      EXPECT_LE(LocalElements(shape, step.after), most)
          << Text(from) << " to " << Text(to) << " by " << Text(step.after);
  }
}

TEST(Reshard, ThereAndBackArrivesWhereItBegan) {
  Random random(11);
  for (int64_t round = FuzzCount(500); round > 0; --round) {
    const MeshDef* mesh = random.Mesh();
    Shape shape = random.SomeShape(3);
    TensorSharding a = random.Sharding(mesh, shape, true), b = random.Sharding(mesh, shape, true);
    TensorSharding at = a;
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      for (const ReshardStep& step : PlanReshard(shape, 4, from, to)) at = step.after;
    EXPECT_EQ(Text(at), Text(a));
  }
}

TEST(Reshard, AnotherOrderOfDevicesIsOnePermutation) {
  TensorSharding from = Dims(MeshOf("x=2 y=2"), "{x}, {y}"),
                 to = Dims(MeshOf("x=2 y=2", {3, 1, 0, 2}), "{x}, {y}");
  auto steps = PlanReshard({8, 8}, 4, from, to);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kind, StepKind::kCollectivePermute);
  EXPECT_EQ(steps[0].bytes, 64);
}

TEST(Reshard, OfMaximaKeepsCopiesAsPartialValues) {
  const MeshDef* mesh = MeshOf("x=2");
  auto steps = PlanReshard({4}, 4, Dims(mesh, "{}"), Dims(mesh, "{} | unreduced=max{x}"));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].kind, StepKind::kReplicatedToUnreduced);
  // Zero is no identity of max: no step may put zeros around the parts.
  for (const ReshardStep& step :
       PlanReshard({4}, 4, Dims(mesh, "{x}"), Dims(mesh, "{} | unreduced=max{x}")))
    EXPECT_NE(step.kind, StepKind::kShardedToUnreduced);
}

TEST(Reshard, FromSumsToMaximaCombinesFirst) {
  const MeshDef* mesh = MeshOf("x=2");
  auto steps =
      PlanReshard({4}, 4, Dims(mesh, "{} | unreduced={x}"), Dims(mesh, "{} | unreduced=max{x}"));
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps[0].kind, StepKind::kAllReduce);
  EXPECT_EQ(steps.back().after.kind, Reduction::kMax);
}

}  // namespace
}  // namespace tessera::sharding

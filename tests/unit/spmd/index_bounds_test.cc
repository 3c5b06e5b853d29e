// Bounds on positions, through ops that move elements and through sums.
#include "spmd/blocks/index_bounds.h"

#include <gmock/gmock.h>

#include "ir/program_text.h"
#include "kernels/initialize.h"
#include "ops/ops.h"
#include "spmd/pipeline.h"

namespace tessera::spmd {
namespace {

using testing::ElementsAre;

// Returns the bounds on the only result of a program without arguments.
MaybeBounds BoundsOfResult(const std::string& text) {
  ops::Install();
  kernels::Initialize();
  const ir::Program device =
      Lower(ir::ParseProgram("mesh @mesh = <[\"x\"=2]> explicit={\"x\"}\n" + text, Loc::Unknown()));
  return BoundsFinder(device).Find({})[device.outputs[0]];
}

TEST(IndexBounds, DependOnTheDevice) {
  const MaybeBounds bounds = BoundsOfResult(R"(
func @main() -> i32[8@x,2] {
  %0: i32[8@x,2] = iota {dim=[0]}
  return %0
})");
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->least, 0);
  EXPECT_EQ(bounds->most, 4);
  EXPECT_THAT(bounds->strides, ElementsAre(1, 0));
}

TEST(IndexBounds, FollowDimsByTheirFactors) {
  const MaybeBounds bounds = BoundsOfResult(R"(
func @main() -> i32[4,3,2,5] {
  %0: i32[6,4] = iota {dim=[0]}
  %1: i32[4,6] = transpose %0 {perm=[1, 0]}
  %2: i32[4,3,2] = reshape %1
  %3: i32[4,3,2,5] = broadcast_in_dim %2 {dims=[0, 1, 2]}
  return %3
})");
  ASSERT_TRUE(bounds);
  EXPECT_THAT(bounds->strides, ElementsAre(0, 2, 1, 0));
}

TEST(IndexBounds, FollowViewsOfAnyName) {
  const MaybeBounds bounds = BoundsOfResult(R"(
func @main() -> i32[6] {
  %0: i32[6] = iota {dim=[0]}
  %1: i32[6] = optimization_barrier %0
  %2: i32[6] = sub %1, %0
  return %2
})");
  ASSERT_TRUE(bounds);
  EXPECT_THAT(bounds->strides, ElementsAre(0));
}

TEST(IndexBounds, EndWhereElementsAreComputed) {
  EXPECT_FALSE(BoundsOfResult(R"(
func @main() -> i32[6] {
  %0: i32[6] = iota {dim=[0]}
  %1: i32[6] = mul %0, %0
  return %1
})"));
}

}  // namespace
}  // namespace tessera::spmd

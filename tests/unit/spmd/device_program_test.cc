// Golden device programs, one fact each.
#include <gmock/gmock.h>

#include "ir/program_text.h"
#include "ops/ops.h"
#include "sharding/local.h"
#include "spmd/cost.h"
#include "spmd/pipeline.h"

namespace tessera::spmd {
namespace {

constexpr const char* kMesh2x4 = "mesh @mesh = <[\"x\"=2, \"y\"=4]> explicit={\"x\", \"y\"}\n";

ir::Program LowerOn2x4(const std::string& text) {
  ops::Install();
  return Lower(ir::ParseProgram(kMesh2x4 + text, Loc::Unknown()));
}

// The instructions as text, without types of values and without comments: "%2 = add %0, %1".
std::string Body(const ir::Program& device) {
  std::string text = ir::Text(device), out;
  size_t at = text.find("{\n", text.find("func")) + 2;
  while (text[at] != '}') {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at + 2, end - at - 2);
    line = line.substr(0, line.find("//"));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    at = end + 1;
  }
  return out;
}

TEST(DeviceProgram, WhatIsShardedAlikeRunsInPlace) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x,16@y], %1: f32[8@x,16@y]) -> f32[8@x,16@y] {
  %2: f32[8@x,16@y] = add %0, %1
  return %2
})")),
            "%2: f32[4,4] = add %0, %1\n"
            "return %2\n");
}

TEST(DeviceProgram, AWholeOperandIsSlicedBesideASharded) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x,16], %1: f32[8,16]) -> f32[8@x,16] {
  %2: f32[8@x,16] = add %0, %1
  return %2
})")),
            "%2: f32[4,16] = all_slice %1 {from=f32[8,16], to=f32[8@x,16]}\n"
            "%3: f32[4,16] = add %0, %2\n"
            "return %3\n");
}

TEST(DeviceProgram, ASumOverAShardedDimIsFinishedByAnAllReduce) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x,16]) -> f32[16] {
  %1: f32[16] = reduce_sum %0 {dims=[0]}
  return %1
})")),
            "%1: f32[16] = reduce_sum %0 {dims=[0]}\n"
            "%2: f32[16] = all_reduce %1 {from=f32[16]{U:x}, to=f32[16]}\n"
            "return %2\n");
}

TEST(DeviceProgram, AnUnreducedResultIsLeftPartial) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8,16@y], %1: f32[16@y,8]) -> f32[8,8]{U:y} {
  %2: f32[8,8]{U:y} = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}
  return %2
})")),
            "%2: f32[8,8] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}\n"
            "return %2\n");
}

TEST(DeviceProgram, AContractionIntoAShardedResultIsAReduceScatter) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8,16@y], %1: f32[16@y,8]) -> f32[8@y,8] {
  %2: f32[8@y,8] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}
  return %2
})")),
            "%2: f32[8,8] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}\n"
            "%3: f32[2,8] = reduce_scatter %2 {from=f32[8,8]{U:y}, to=f32[8@y,8]}\n"
            "return %3\n");
}

TEST(DeviceProgram, ABroadcastIsMadeInParts) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[16]) -> f32[8@x,16@y] {
  %1: f32[8@x,16@y] = broadcast_in_dim %0 {dims=[1]}
  return %1
})")),
            "%1: f32[4] = all_slice %0 {from=f32[16], to=f32[16@y]}\n"
            "%2: f32[4,4] = broadcast_in_dim %1 {dims=[1]}\n"
            "return %2\n");
}

TEST(DeviceProgram, AMovedDimIsAnAllToAll) {
  ir::Program device = LowerOn2x4(R"(
func @main(%0: f32[8@x,16]) -> f32[8,16@x] {
  %1: f32[8,16@x] = reshard %0
  return %1
})");
  EXPECT_EQ(Body(device),
            "%1: f32[8,8] = all_to_all %0 {from=f32[8@x,16], to=f32[8,16@x]}\n"
            "return %1\n");
  EXPECT_FALSE(device.instructions[0].cost->implied);
  EXPECT_EQ(device.instructions[0].cost->bytes, 4 * 16 * 4 / 2);
}

TEST(DeviceProgram, WhatIsDoneTwiceIsDoneOnce) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x]) -> (f32[8], f32[8]) {
  %1: f32[8] = reshard %0
  %2: f32[8] = reshard %0
  %3: f32[8] = exp %1
  %4: f32[8] = exp %2
  return %3, %4
})")),
            "%1: f32[8] = all_gather %0 {from=f32[8@x], to=f32[8]}\n"
            "%2: f32[8] = exp %1\n"
            "return %2, %2\n");
}

TEST(DeviceProgram, WhatNobodyUsesIsDropped) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x]) -> f32[8@x] {
  %1: f32[8] = reshard %0
  %2: f32[8] = exp %1
  return %0
})")),
            "return %0\n");
}

TEST(DeviceProgram, RowsAreSlicedAndSortedInPlace) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x,16]) -> f32[8@x,8] {
  %1: f32[8@x,8] = slice %0 {starts=[0, 0], limits=[8, 16], strides=[1, 2]}
  %2: f32[8@x,8] = sort %1 {dim=[1], num_keys=1, descending=false}
  return %2
})")),
            "%1: f32[4,8] = slice %0 {starts=[0, 0], limits=[8, 16], strides=[1, 2]}\n"
            "%2: f32[4,8] = sort %1 {dim=[1], num_keys=1, descending=false}\n"
            "return %2\n");
}

TEST(DeviceProgram, ALoopHasABodyForEachDevice) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[16], %1: f32[3,8@x,16]) -> (f32[16], f32[3,8@x,16]) {
  %2: f32[16], %3: f32[3,8@x,16] = scan %0, %1 {constants=0, carries=1, length=3, reverse=false}
    region(%4: f32[16], %5: f32[8@x,16]) -> (f32[16], f32[8@x,16]) {
      %6: f32[16] = reduce_sum %5 {dims=[0]}
      %7: f32[16] = maximum %4, %6
      return %7, %5
    }
  return %2, %3
})")),
            "%2: f32[16], %3: f32[3,4,16] = scan %0, %1 "
            "{constants=0, carries=1, length=3, reverse=false}\n"
            "  region(%4: f32[16], %5: f32[4,16]) -> (f32[16], f32[4,16]) {\n"
            "    %6: f32[16] = reduce_sum %5 {dims=[0]}\n"
            "    %7: f32[16] = all_reduce %6 {from=f32[16]{U:x}, to=f32[16]}\n"
            "    %8: f32[16] = maximum %4, %7\n"
            "    return %8, %5\n"
            "  }\n"
            "return %2, %3\n");
}

TEST(DeviceProgram, WhatALoopAddsUpIsReducedBehindIt) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[16], %1: f32[3,8@x,16]) -> (f32[16], f32[3,8@x,16]) {
  %2: f32[16], %3: f32[3,8@x,16] = scan %0, %1 {constants=0, carries=1, length=3, reverse=false}
    region(%4: f32[16], %5: f32[8@x,16]) -> (f32[16], f32[8@x,16]) {
      %6: f32[16] = reduce_sum %5 {dims=[0]}
      %7: f32[16] = add %4, %6
      return %7, %5
    }
  return %2, %3
})")),
            "%2: f32[16] = replicated_to_unreduced %0 {from=f32[16], to=f32[16]{U:x}}\n"
            "%3: f32[16], %4: f32[3,4,16] = scan %2, %1 "
            "{constants=0, carries=1, length=3, reverse=false}\n"
            "  region(%5: f32[16], %6: f32[4,16]) -> (f32[16], f32[4,16]) {\n"
            "    %7: f32[16] = reduce_sum %6 {dims=[0]}\n"
            "    %8: f32[16] = add %5, %7\n"
            "    return %8, %6\n"
            "  }\n"
            "%9: f32[16] = all_reduce %3 {from=f32[16]{U:x}, to=f32[16]}\n"
            "return %9, %4\n");
}

// Partial results over other axes, and replicated values, count on one device.
TEST(DeviceProgram, ASumOfSumsIsReducedOnce) {
  ir::Program device = LowerOn2x4(R"(
func @main(%0: f32[8@x], %1: f32[8@y], %2: f32[4@x], %3: f32[]) -> f32[] {
  %4: f32[] = reduce_sum %0 {dims=[0]}
  %5: f32[] = add %3, %4
  %6: f32[] = reduce_sum %1 {dims=[0]}
  %7: f32[] = add %5, %6
  %8: f32[] = reduce_sum %2 {dims=[0]}
  %9: f32[] = sub %7, %8
  return %9
}
)");
  EXPECT_EQ(Body(device),
            "%4: f32[] = reduce_sum %0 {dims=[0]}\n"
            "%5: f32[] = reduce_sum %1 {dims=[0]}\n"
            "%6: f32[] = replicated_to_unreduced %3 {from=f32[], to=f32[]{U:(x,y)}}\n"
            "%7: f32[] = replicated_to_unreduced %4 {from=f32[]{U:x}, to=f32[]{U:(x,y)}}\n"
            "%8: f32[] = add %6, %7\n"
            "%9: f32[] = replicated_to_unreduced %5 {from=f32[]{U:y}, to=f32[]{U:(x,y)}}\n"
            "%10: f32[] = add %8, %9\n"
            "%11: f32[] = reduce_sum %2 {dims=[0]}\n"
            "%12: f32[] = replicated_to_unreduced %11 {from=f32[]{U:x}, to=f32[]{U:(x,y)}}\n"
            "%13: f32[] = sub %10, %12\n"
            "%14: f32[] = all_reduce %13 {from=f32[]{U:(x,y)}, to=f32[]}\n"
            "return %14\n");
}

TEST(DeviceProgram, CollectivesThatAreTheSameInEveryIterationRunOnce) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x,16], %1: f32[8,16]) -> f32[8,16] {
  %2: f32[8,16] = while_loop %0, %1 {constants=1, counted=false}
    region(%3: f32[8@x,16], %4: f32[8,16]) -> bool[] {
      %5: f32[] = reduce_sum %4 {dims=[0, 1]}
      %6: bool[] = lt %5, %5
      return %6
    }
    region(%7: f32[8@x,16], %8: f32[8,16]) -> f32[8,16] {
      %9: f32[8@x,16] = exp %7
      %10: f32[8,16] = reshard %9
      %11: f32[8,16] = add %8, %10
      return %11
    }
  return %2
})")),
            "%2: f32[4,16] = exp %0\n"
            "%3: f32[8,16] = all_gather %2 {from=f32[8@x,16], to=f32[8,16]}\n"
            "%4: f32[8,16] = while_loop %3, %1 {constants=1, counted=false}\n"
            "  region(%5: f32[8,16], %6: f32[8,16]) -> bool[] {\n"
            "    %7: f32[] = reduce_sum %6 {dims=[0, 1]}\n"
            "    %8: bool[] = lt %7, %7\n"
            "    return %8\n"
            "  }\n"
            "  region(%9: f32[8,16], %10: f32[8,16]) -> f32[8,16] {\n"
            "    %11: f32[8,16] = add %10, %9\n"
            "    return %11\n"
            "  }\n"
            "return %4\n");
}

TEST(DeviceProgram, FlopsAreThoseOfOneDevice) {
  Flops flops = FlopsOf(LowerOn2x4(R"(
func @main(%0: f32[8@x,16], %1: f32[16,8@y]) -> f32[8@x,8@y] {
  %2: f32[8@x,8@y] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}
  return %2
})"));
  EXPECT_EQ(flops.device, 2 * 4 * 16 * 2);
  EXPECT_EQ(flops.whole, 2 * 8 * 16 * 8);
}

TEST(DeviceProgram, ACallOfTheHostTakesValuesAsTheyLie) {
  EXPECT_EQ(Body(LowerOn2x4(R"(
func @main(%0: f32[8@x,16@y], %1: f32[16@y,8]) -> f32[8@x,16@y] {
  %2: f32[8@x,8]{U:y} = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}
  debug_callback %0, %2 {function=3}
  return %0
})")),
            "%2: f32[4,8] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}\n"
            "debug_callback %0, %2 {function=3}\n"
            "return %0\n");
}

TEST(DeviceProgram, EveryValueHasItsGlobalType) {
  ir::Program device = LowerOn2x4(R"(
func @main(%0: f32[8@x,16]) -> f32[16] {
  %1: f32[16] = reduce_sum %0 {dims=[0]}
  %2: f32[16] = exp %1
  return %2
})");
  for (const ir::Instruction& i : device.instructions) EXPECT_TRUE(i.cost) << i.op->name;
  for (const ir::Value& v : device.values) {
    ASSERT_TRUE(v.place);
    EXPECT_EQ(v.type->shape(), sharding::LocalShape(v.place->shape(), v.place->sharding()));
  }
}

}  // namespace
}  // namespace tessera::spmd

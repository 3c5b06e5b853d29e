// Golden texts of the stages after the device program: fused groups, the boxes of exchanges, and
// where values are in memory. One fact each.
#include <gmock/gmock.h>

#include "ir/program_text.h"
#include "kernels/copy/boxes.h"
#include "kernels/copy/copy.h"
#include "kernels/fused/fused.h"
#include "kernels/initialize.h"
#include "kernels/reduce/combine.h"
#include "ops/ops.h"
#include "plan/plan_text.h"
#include "runtime/memory_text.h"
#include "spmd/emit/plan_builder.h"
#include "spmd/pipeline.h"
#include "spmd/schedule/schedule_text.h"

namespace tessera::spmd {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kMesh2 = "mesh @mesh = <[\"x\"=2]> explicit={\"x\"}\n";

ir::Program LowerOn2(const std::string& text) {
  ops::Install();
  kernels::Initialize();
  return Lower(ir::ParseProgram(kMesh2 + text, Loc::Unknown()));
}

std::string ScheduleOf(const std::string& text) {
  ir::Program device = LowerOn2(text);
  return "\n" + Text(MakeSchedule(device, {}), device);
}

// Kernels are not run, so those that the builder makes may be of any kind.
plan::Plan PlanOf(const std::string& text, const std::vector<bool>& donated = {}) {
  ir::Program device = LowerOn2(text);
  auto copy = [](const KernelFactories::DeviceCopy&) { return plan::Kernel{}; };
  auto on_tiles = [](const KernelFactories::OnTiles&) { return plan::Kernel{}; };
  auto nested = [](std::vector<plan::Plan>) { return plan::Kernel{}; };
  return BuildPlan(device, MakeSchedule(device, {}),
                   {kernels::Fused, copy, kernels::CopyWhole, kernels::CopyBoxes, on_tiles,
                    kernels::Combiner, nested},
                   2, donated);
}

// The lines of a plan's text from the first node on.
std::string NodesOf(const plan::Plan& plan) {
  std::string text = plan::Text(plan);
  size_t at = std::min(text.find("\nsegment"), text.find("\nexchange"));
  return text.substr(at);
}

std::string MemoryOf(const plan::Plan& plan) { return "\n" + runtime::MemoryText(plan); }

constexpr const char* kSoftmax = R"(
func @main(%0: f32[8@x,16]) -> f32[8@x,16] {
  %1: f32[8@x,16] = exp %0
  %2: f32[8@x] = reduce_sum %1 {dims=[1]}
  %3: f32[8@x,1] = reshape %2
  %4: f32[8@x,16] = broadcast_in_dim %3 {dims=[0, 1]}
  %5: f32[8@x,16] = div %1, %4
  return %5
})";

TEST(Fusion, AReductionAndItsUsersAreOneGroup) {
  EXPECT_EQ(ScheduleOf(kSoftmax), R"(
fused over [4,16], the last 1 reduced: (%0) -> (%5), a buffer per "x"
  %1 = exp %0
  %2 = reduce_sum %1 {dims=[1]}
  %3 = reshape %2
  %4 = broadcast_in_dim %3 {dims=[0, 1]}
  %5 = div %1, %4
)");
}

TEST(Fusion, ConstantsAreFolded) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x]) -> f32[8@x] {
  %1: f32[] = constant {value=f32 2}
  %2: f32[8@x] = mul %0, %1
  return %2
})"),
            R"(
fused over [4]: (%0) -> (%2), a buffer per "x"
  %1 = constant {value=f32 2}
  %2 = mul %0, %1
)");
}

TEST(Fusion, AnExchangeSeparatesGroups) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x]) -> (f32[8], f32[8]) {
  %1: f32[8@x] = exp %0
  %2: f32[8] = reshard %1
  %3: f32[8] = exp %2
  return %2, %3
})"),
            R"(
fused over [4]: (%0) -> (%1), a buffer per "x"
  %1 = exp %0
move: %2 = all_gather %1 {from=f32[8@x], to=f32[8]}, one buffer for all
fused over [8]: (%2) -> (%3), one buffer for all
  %3 = exp %2
)");
}

// Readers of the results come after, unless they are large: large work is not delayed.
TEST(Combining, SmallReductionsOverTheSameAxesAreOneExchange) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x,16], %1: f32[8@x,4], %2: f32[8@x,100000], %3: f32[8@x]) -> (f32[16], f32[4], f32[100000], f32[]) {
  %4: f32[16] = reduce_sum %0 {dims=[0]}
  %5: f32[16] = exp %4
  %6: f32[100000] = reduce_sum %2 {dims=[0]}
  %7: f32[4] = reduce_sum %1 {dims=[0]}
  %8: f32[] = reduce_max %3 {dims=[0]}
  return %5, %7, %6, %8
})"),
            R"(
kernel: %4 = reduce_sum %0 {dims=[0]}, a buffer per "x"
kernel: %7 = reduce_sum %2 {dims=[0]}, a buffer per "x"
move: %8 = all_reduce %7 {from=f32[100000]{U:x}, to=f32[100000]}, one buffer for all
kernel: %9 = reduce_sum %1 {dims=[0]}, a buffer per "x"
kernel: %11 = reduce_max %3 {dims=[0]}, a buffer per "x"
move: %5 = all_reduce %4 {from=f32[16]{U:x}, to=f32[16]}, one buffer for all
  with it: %10 = all_reduce %9 {from=f32[4]{U:x}, to=f32[4]}, one buffer for all
move: %12 = all_reduce %11 {from=f32[]{U_max:x}, to=f32[]}, one buffer for all
fused over [16]: (%5) -> (%6), one buffer for all
  %6 = exp %5
)");
}

TEST(Combining, AReductionOfWhatAnotherMakesWaitsForIt) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x], %1: f32[8@x]) -> (f32[], f32[]) {
  %2: f32[] = reduce_sum %0 {dims=[0]}
  %3: f32[8@x] = broadcast_in_dim %2 {dims=[]}
  %4: f32[8@x] = sub %1, %3
  %5: f32[8@x] = mul %4, %4
  %6: f32[] = reduce_sum %5 {dims=[0]}
  return %2, %6
})"),
            R"(
kernel: %2 = reduce_sum %0 {dims=[0]}, a buffer per "x"
move: %3 = all_reduce %2 {from=f32[]{U:x}, to=f32[]}, one buffer for all
fused over [4], the last 1 reduced: (%1, %3) -> (%6), a buffer per "x"
  %4 = sub %1, %3
  %5 = mul %4, %4
  %6 = reduce_sum %5 {dims=[0]}
move: %7 = all_reduce %6 {from=f32[]{U:x}, to=f32[]}, one buffer for all
)");
}

// Rows of 70 are read in place: the pad, the slice and the broadcast of a row are not computed.
TEST(Fusion, MovedOperandsAreReadWhereTheyLie) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[6,70], %1: f32[2,70]) -> f32[6,70] {
  %2: f32[] = constant {value=f32 7}
  %3: f32[8,70] = pad %0, %2 {low=[1, 0], high=[1, 0], interior=[0, 0]}
  %4: f32[6,70] = slice %3 {starts=[0, 0], limits=[6, 70], strides=[1, 1]}
  %5: f32[1,70] = slice %1 {starts=[1, 0], limits=[2, 70], strides=[1, 1]}
  %6: f32[6,70] = broadcast_in_dim %5 {dims=[0, 1]}
  %7: f32[6,70] = mul %4, %6
  return %7
})"),
            R"(
kernel: %2 = constant {value=f32 7}, one buffer for all
fused over [6,70]: (%0, %2, %1) -> (%7), one buffer for all
  %4[1:6,0:70] = %0[-1 + i,j]
  %4[0:1,0:70] = %2[]
  %6[0:6,0:70] = %1[1,j]
  %7 = mul %4, %6
)");
}

// Read in another order on the way, and stored in another order.
TEST(Moves, TransposeOnTheWay) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x,16], %1: f32[8@x,16]) -> (f32[16@x,8], f32[16@x,8]) {
  %2: f32[16,8@x] = transpose %0 {perm=[1, 0]}
  %3: f32[16@x,8] = reshard %2
  %4: f32[8,16@x] = reshard %1
  %5: f32[16@x,8] = transpose %4 {perm=[1, 0]}
  %6: f32[16@x,8] = neg %5
  return %3, %6
})"),
            R"(
move: %3 = all_to_all %2 {from=f32[16,8@x], to=f32[16@x,8]}, a buffer per "x"
  %2[0:16,0:4] = %0[j,i]
move: %4 = all_to_all %1 {from=f32[8@x,16], to=f32[8,16@x]}, a buffer per "x"
  stored as %5[0:8,0:8] = %4[j,i]
fused over [8,8]: (%5) -> (%6), a buffer per "x"
  %6 = neg %5
)");
}

// Conversions, and other functions of one element, before and after a move.
TEST(Moves, ComputeOnTheWay) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x,2048], %1: bf16[8@x,2048]) -> (bf16[8,2048@x], f32[8,2048@x]) {
  %2: bf16[8@x,2048] = convert_element_type %0
  %3: bf16[8,2048@x] = reshard %2
  %4: bf16[8,2048@x] = reshard %1
  %5: f32[8,2048@x] = convert_element_type %4
  %6: f32[] = constant {value=f32 2}
  %7: f32[8,2048@x] = mul %6, %5
  %8: f32[8,2048@x] = mul %7, %5
  return %3, %8
})"),
            R"(
move: %3 = all_to_all %2 {from=bf16[8@x,2048], to=bf16[8,2048@x]}, a buffer per "x"
  computed on the way: %0 -> %2
    %2 = convert_element_type %0
move: %4 = all_to_all %1 {from=bf16[8@x,2048], to=bf16[8,2048@x]}, a buffer per "x"
  computed on the way: %4 -> %8
    %6 = constant {value=f32 2}
    %5 = convert_element_type %4
    %7 = mul %6, %5
    %8 = mul %7, %5
)");
}

// Values with other readers, groups of two arrays, and rows too short for a call each.
TEST(Moves, ComputeNothingElse) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x,2048], %1: f32[8,2048@x])
    -> (f32[8,2048@x], f32[8@x,2048], f32[8,2048@x], f32[8,2048@x]) {
  %2: f32[8@x,2048] = exp %0
  %3: f32[8,2048@x] = reshard %2
  %4: f32[8,2048@x] = add %3, %1
  %5: f32[8,2048@x] = reshard %0
  %6: f32[8,2048@x] = neg %5
  return %4, %2, %6, %5
})"),
            R"(
fused over [4,2048]: (%0) -> (%2), a buffer per "x"
  %2 = exp %0
move: %3 = all_to_all %2 {from=f32[8@x,2048], to=f32[8,2048@x]}, a buffer per "x"
fused over [8,1024]: (%3, %1) -> (%4), a buffer per "x"
  %4 = add %3, %1
move: %5 = all_to_all %0 {from=f32[8@x,2048], to=f32[8,2048@x]}, a buffer per "x"
fused over [8,1024]: (%5) -> (%6), a buffer per "x"
  %6 = neg %5
)");
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[64@x,64]) -> bf16[64,64@x] {
  %1: bf16[64@x,64] = convert_element_type %0
  %2: bf16[64,64@x] = reshard %1
  return %2
})"),
            R"(
fused over [32,64]: (%0) -> (%1), a buffer per "x"
  %1 = convert_element_type %0
move: %2 = all_to_all %1 {from=bf16[64@x,64], to=bf16[64,64@x]}, a buffer per "x"
)");
}

// A value that was made smaller to be kept is not kept larger.
TEST(Moves, ComputeNothingThatIsKeptFor) {
  const std::string between = R"(
  %4: f32[8@x,2048] = sort %1 {dim=[1], num_keys=1, descending=false}
  %5: f32[8@x,2048] = sort %4 {dim=[1], num_keys=1, descending=true}
  %6: f32[8@x,2048] = sort %5 {dim=[1], num_keys=1, descending=false}
  %7: f32[8@x,2048] = sort %6 {dim=[1], num_keys=1, descending=true}
  %8: f32[8@x,2048] = sort %7 {dim=[1], num_keys=1, descending=false}
  %9: f32[8@x,2048] = sort %8 {dim=[1], num_keys=1, descending=true}
  %10: f32[8@x,2048] = sort %9 {dim=[1], num_keys=1, descending=false}
  %11: f32[8@x,2048] = sort %10 {dim=[1], num_keys=1, descending=true}
  %12: f32[8@x,2048] = sort %11 {dim=[1], num_keys=1, descending=false}
  %13: f32[8@x,2048] = sort %12 {dim=[1], num_keys=1, descending=true}
)";
  const auto with = [](const std::string& before, const std::string& behind) {
    return ScheduleOf("func @main(%0: f32[8@x,2048], %1: f32[8@x,2048])" +
                      std::string(" -> (bf16[8,2048@x], f32[8@x,2048]) {") +
                      "  %2: f32[8@x,2048] = sort %0 {dim=[1], num_keys=1, descending=false}\n"
                      "  %3: bf16[8@x,2048] = convert_element_type %2\n" +
                      before + "  %14: bf16[8,2048@x] = reshard %3\n" + behind +
                      "  return %14, %13\n}");
  };
  EXPECT_THAT(with(between, ""), Not(HasSubstr("on the way")));
  EXPECT_THAT(with("", between), HasSubstr("on the way: %2 -> %3"));
}

// Offsets and strides are in elements of either end.
TEST(Boxes, AnExchangeThatComputesReadsAnotherDtype) {
  EXPECT_EQ(NodesOf(PlanOf(R"(
func @main(%0: f32[8@x,2048]) -> bf16[8,2048@x] {
  %1: bf16[8@x,2048] = convert_element_type %0
  %2: bf16[8,2048@x] = reshard %1
  return %2
})")),
            R"(
exchange v1 = copy(v0), bf16 computed from f32  // all_to_all
  box 0: [4,1024] strides [2048,1] -> [1024,1]
  v1.0: box 0 of v0.0 at 0 -> 0; box 0 of v0.1 at 0 -> 4096
  v1.1: box 0 of v0.0 at 1024 -> 0; box 0 of v0.1 at 1024 -> 4096
return v1
)");
}

TEST(Moves, WhatOthersReadIsTransposedOnce) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x,16], %1: f32[8,16@x]) -> (f32[16,8@x], f32[16,8], f32[16@x,8]) {
  %2: f32[16,8@x] = transpose %0 {perm=[1, 0]}
  %3: f32[16@x,8] = reshard %2
  %4: f32[16@x,8] = transpose %1 {perm=[1, 0]}
  %5: f32[16,8] = reshard %4
  %6: f32[16@x,8] = neg %3
  return %2, %5, %6
})"),
            R"(
kernel: %2 = transpose %0 {perm=[1, 0]}, a buffer per "x"
move: %3 = all_to_all %2 {from=f32[16,8@x], to=f32[16@x,8]}, a buffer per "x"
move: %5 = all_gather %4 {from=f32[16@x,8], to=f32[16,8]}, one buffer for all
  %4[0:8,0:8] = %1[j,i]
fused over [8,8]: (%3) -> (%6), a buffer per "x"
  %6 = neg %3
)");
}

// Two groups become one where nobody else waits for the first.
TEST(Fusion, GroupsThatMeetAreOne) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x], %1: f32[8@x]) -> f32[8@x] {
  %2: f32[8@x] = exp %0
  %3: f32[8@x] = sin %1
  %4: f32[8@x] = mul %2, %3
  return %4
})"),
            R"(
fused over [4]: (%0, %1) -> (%4), a buffer per "x"
  %2 = exp %0
  %3 = sin %1
  %4 = mul %2, %3
)");
}

// The devices' own elements are read in place; the exchange is of a row.
TEST(Halo, SendsEdgesOnlyToElementwiseOps) {
  const std::string program = R"(
mesh @mesh = <["x"=2]> auto={"x"}
func @main(%0: f32[8,64] <@mesh, [{"x"}, {}]>) -> f32[8,64] <@mesh, [{"x"}, {}]> {
  %1: f32[8,64] <@mesh, [{"x"}, {}]> = roll %0 {dim=[0], shift=1}
  %2: f32[8,64] <@mesh, [{"x"}, {}]> = mul %0, %1
  return %2
})";
  ops::Install();
  kernels::Initialize();
  const ir::Program device = Lower(ir::ParseProgram(program, Loc::Unknown()));
  EXPECT_EQ("\n" + Text(MakeSchedule(device, {}), device), R"(
move: %2 = halo_exchange %0 {from=[f32[8@x,64]], to=f32[8@x,64], reads=[[0, 0, 7, 1, 1], [0, 0, -1, 1, 1]], fill=-1, keep=[[0, 0, 1]]}, a buffer per "x"
fused over [4,64]: (%0, %2) -> (%4), a buffer per "x"
  %3[0:1,0:64] = %2[i,j]
  %3[1:4,0:64] = %0[-1 + i,j]
  %4 = mul %0, %3
)");
}

TEST(Fusion, ASumOfSmallFloatsIsRoundedOnce) {
  EXPECT_THAT(ScheduleOf(R"(
func @main(%0: bf16[512,1024]) -> bf16[] {
  %1: bf16[] = reduce_sum %0 {dims=[0, 1]}
  return %1
})"),
              HasSubstr("kernel: %1 = reduce_sum %0 {dims=[0, 1]}"));
}

// On one device all cores reduce rows, and one of them reduces their results.
TEST(Fusion, ALargeReductionToANumberIsOfRowsFirst) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[512,1024]) -> f32[] {
  %1: f32[512,1024] = mul %0, %0
  %2: f32[] = reduce_sum %1 {dims=[0, 1]}
  return %2
})"),
            R"(
fused over [512,1024], the last 1 reduced: (%0) -> (%2), one buffer for all
  %1 = mul %0, %0
  %2 = reduce_sum %1 {dims=[1]}
kernel: %3 = reduce_sum %2 {dims=[0]}, one buffer for all
)");
}

TEST(Fusion, AViewIsItsOperandsBuffer) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x,4]) -> f32[32@x] {
  %1: f32[8@x,4] = sort %0 {dim=[1], num_keys=1, descending=false}
  %2: f32[32@x] = reshape %1
  return %2
})"),
            R"(
kernel: %1 = sort %0 {dim=[1], num_keys=1, descending=false}, a buffer per "x"
view %2 of %1
)");
}

TEST(Fusion, ALoopsBodyIsScheduledByItself) {
  EXPECT_EQ(ScheduleOf(R"(
func @main(%0: f32[8@x]) -> f32[8@x] {
  %1: f32[8@x] = scan %0 {constants=0, carries=1, length=3, reverse=false}
    region(%2: f32[8@x]) -> f32[8@x] {
      %3: f32[8@x] = exp %2
      return %3
    }
  return %1
})"),
            R"(
control: %1 = scan %0 {constants=0, carries=1, length=3, reverse=false}, a buffer per "x"
  region 0
    fused over [4]: (%2) -> (%3), a buffer per "x"
      %3 = exp %2
)");
}

TEST(Memory, SlotsAreReused) {
  EXPECT_EQ(MemoryOf(PlanOf(R"(
func @main(%0: f32[64,64@x]) -> f32[64,64@x] {
  %1: f32[64,64@x] = sort %0 {dim=[0], num_keys=1, descending=false}
  %2: f32[64@x,64] = reshard %1
  %3: f32[64@x,64] = sort %2 {dim=[1], num_keys=1, descending=false}
  %4: f32[64,64@x] = reshard %3
  %5: f32[64,64@x] = sort %4 {dim=[0], num_keys=1, descending=true}
  return %5
})")),
            R"(
v0: as given
v1: in the buffers of v5 before it is made, +0
v2: block +0
v3: in the buffers of v5 before it is made, +0
v4: block +0
v5: allocated
block 16704 B, frame of each worker 0 B, at most 16384 B of a device
)");
}

TEST(Memory, AFusedGroupIsMadeInPlaceOfADeadOperand) {
  EXPECT_EQ(MemoryOf(PlanOf(R"(
func @main(%0: f32[8@x,16]) -> f32[8@x,16] {
  %1: f32[8@x,16] = sort %0 {dim=[1], num_keys=1, descending=false}
  %2: f32[8@x,16] = exp %1
  %3: f32[8@x,16] = sort %2 {dim=[1], num_keys=1, descending=false}
  return %3
})")),
            R"(
v0: as given
v1: frame +0
v2: in place of v1
v3: allocated
block 0 B, frame of each worker 256 B, at most 512 B of a device
)");
}

TEST(Memory, AnOutputTakesADonatedInput) {
  EXPECT_EQ(MemoryOf(PlanOf(R"(
func @main(%0: f32[8@x,16]) -> f32[8@x,16] {
  %1: f32[8@x,16] = exp %0
  return %1
})",
                            {true})),
            R"(
v0: as given
v1: takes the buffers of donated v0
block 0 B, frame of each worker 0 B, at most 0 B of a device
)");
}

TEST(Boxes, AnAllToAllIsABoxPerPair) {
  EXPECT_EQ(NodesOf(PlanOf(R"(
func @main(%0: f32[8@x,4]) -> f32[8,4@x] {
  %1: f32[8,4@x] = reshard %0
  return %1
})")),
            R"(
exchange v1 = copy(v0), f32  // all_to_all
  box 0: [4,2] strides [4,1] -> [2,1]
  v1.0: box 0 of v0.0 at 0 -> 0; box 0 of v0.1 at 0 -> 8
  v1.1: box 0 of v0.0 at 2 -> 0; box 0 of v0.1 at 2 -> 8
return v1
)");
}

TEST(Boxes, AHaloExchangeReadsTheNeighboursEdge) {
  EXPECT_EQ(NodesOf(PlanOf(R"(
func @main(%0: f32[8@x,4]) -> f32[8@x,4] {
  %1: f32[8@x,4] = roll %0 {shift=1, dim=[0]}
  return %1
})")),
            R"(
exchange v1 = copy(v0), f32  // halo_exchange
  box 0: [4] strides [1] -> [1]
  box 1: [12] strides [1] -> [1]
  v1.0: box 0 of v0.1 at 12 -> 0; box 1 of v0.0 at 0 -> 4
  v1.1: box 0 of v0.0 at 12 -> 0; box 1 of v0.1 at 0 -> 4
return v1
)");
}

TEST(Boxes, PiecesOfManyInstancesAreCounted) {
  plan::Plan plan;
  plan.devices = 9;
  const auto in = plan.values.Add({}), out = plan.values.Add({});
  plan::Exchange e{.in = {in}, .out = out, .dtype = f32, .boxes = {}, .pieces = {}};
  e.pieces.resize(9);
  plan.nodes.emplace_back(std::move(e));
  EXPECT_THAT(plan::Text(plan), HasSubstr("  v1.7: \n  and 1 more instances\n"));
}

}  // namespace
}  // namespace tessera::spmd

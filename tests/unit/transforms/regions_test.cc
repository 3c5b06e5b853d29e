// Instructions with regions: groups, flags that spread, and instructions that are rebuilt.
#include "transforms/regions.h"

#include <gmock/gmock.h>

#include "ir/builder.h"
#include "unit/transforms/text.h"

namespace tessera::transforms {
namespace {

using testing::ElementsAre;

// A constant, two carries that each iteration swaps, xs and ys.
ir::Program SwappingScan() {
  return Parsed(
      R"(func @main(%0: f32[4], %1: f32[4], %2: f32[4], %3: f32[3,4]) -> (f32[4], f32[4], f32[3,4]) {
  %4: f32[4], %5: f32[4], %6: f32[3,4] = scan %0, %1, %2, %3 {constants=1, carries=2, length=3, reverse=false}
    region(%7: f32[4], %8: f32[4], %9: f32[4], %10: f32[4]) -> (f32[4], f32[4], f32[4]) {
      %11: f32[4] = mul %7, %10
      return %9, %8, %11
    }
  return %4, %5, %6
}
)");
}

TEST(RegionLayout, GroupsInputsAndOutputs) {
  const ir::Program program = SwappingScan();
  const RegionLayout layout(program.instructions[0]);
  EXPECT_EQ(layout.InputGroup(0), RegionGroup::kConstants);
  EXPECT_EQ(layout.InputGroup(2), RegionGroup::kCarries);
  EXPECT_EQ(layout.InputGroup(3), RegionGroup::kSlices);
  EXPECT_EQ(layout.OutputGroup(1), RegionGroup::kCarries);
  EXPECT_EQ(layout.OutputGroup(2), RegionGroup::kSlices);
  EXPECT_TRUE(layout.IsStacked(RegionGroup::kSlices));
  EXPECT_FALSE(layout.IsStacked(RegionGroup::kCarries));
}

TEST(RegionFlags, SpreadFromCarryToCarry) {
  const ir::Program program = SwappingScan();
  // Output 0 is input 2, output 1 is input 1, output 2 depends on inputs 0 and 3.
  const auto outputs_of = [](const ir::Program&, const std::vector<bool>& in,
                             const std::vector<bool>&) {
    return std::vector<bool>{in[2], in[1], in[0] || in[3]};
  };
  const ir::Instruction& scan = program.instructions[0];
  const RegionFlags of_carry = SpreadFlags(scan, {false, true, false, false}, outputs_of);
  EXPECT_THAT(of_carry.ins, ElementsAre(false, true, true, false));
  EXPECT_THAT(of_carry.outs, ElementsAre(true, true, false));
  const RegionFlags of_xs = SpreadFlags(scan, {false, false, false, true}, outputs_of);
  EXPECT_THAT(of_xs.ins, ElementsAre(false, false, false, true));
  EXPECT_THAT(of_xs.outs, ElementsAre(false, false, true));
}

// The second carry goes, and a copy of the constant follows it as one more constant.
TEST(RegionEdit, OrdersGroupsAndCountsThem) {
  ir::Program program = SwappingScan();
  ir::Program body = *program.instructions[0].regions[0];
  body.inputs.push_back(body.AddValue(body.type(body.inputs[0]), Loc::Current()));
  body.outputs[1] = body.inputs[1];
  const ir::Instruction scan = program.instructions[0];
  program.instructions.clear();
  RegionEdit edit(scan, {body});
  edit.AddInput(RegionGroup::kSlices, scan.operands[3], 3);
  edit.AddInput(RegionGroup::kCarries, scan.operands[1], 1);
  edit.AddInput(RegionGroup::kConstants, scan.operands[0], 0);
  edit.AddInput(RegionGroup::kConstants, scan.operands[2], 4);
  edit.AddOutput(RegionGroup::kSlices, program.type(scan.results[2]), 2);
  edit.AddOutput(RegionGroup::kCarries, program.type(scan.results[1]), 1);
  ir::Builder builder(program, Loc::Current());
  program.outputs = std::move(edit).Emit(builder);
  EXPECT_EQ(TextOf(program),
            R"(func @main(%0: f32[4], %1: f32[4], %2: f32[4], %3: f32[3,4]) -> (f32[3,4], f32[4]) {
  %4: f32[4], %5: f32[3,4] = scan %0, %2, %1, %3 {constants=2, carries=1, length=3, reverse=false}
    region(%6: f32[4], %7: f32[4], %8: f32[4], %9: f32[4]) -> (f32[4], f32[4]) {
      %10: f32[4] = mul %6, %9
      return %8, %10
    }
  return %5, %4
}
)");
}

}  // namespace
}  // namespace tessera::transforms

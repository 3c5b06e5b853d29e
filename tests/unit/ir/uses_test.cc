// Used and unused values of a program, and removal of the latter.
#include "ir/uses.h"

#include <gmock/gmock.h>

#include "ir/program_text.h"
#include "ir/simplify.h"
#include "ops/ops.h"

namespace tessera::ir {
namespace {

using testing::ElementsAre;

Program Example() {
  ops::Install();
  return ParseProgram(R"(
func @main(%0: f32[4], %1: f32[4], %2: f32[4]) -> f32[4] {
  %3: f32[4] = exp %0
  %4: f32[4] = add %3, %1
  %5: f32[4] = exp %4
  %6: f32[4] = mul %3, %3
  return %6
})",
                      Loc::Unknown());
}

std::vector<std::string_view> Ops(const Program& program) {
  std::vector<std::string_view> ops;
  for (const Instruction& i : program.instructions) ops.push_back(i.op->name);
  return ops;
}

TEST(Uses, AreReadsAndReturns) {
  EXPECT_THAT(UsedValues(Example()).items(),
              ElementsAre(true, true, false, true, true, false, true));
  EXPECT_THAT(UsedValues(Example(), {false, true, true, false}).items(),
              ElementsAre(true, false, false, true, false, false, true));
}

TEST(Uses, WhatAValueIsMadeOfIsNeeded) {
  Program program = Example();
  EXPECT_THAT(NeededFor(program, program.outputs).items(), ElementsAre(true, false, false, true));
  EXPECT_THAT(NeededFor(program, {ValueId{4}}).items(), ElementsAre(true, true, false, false));
  EXPECT_THAT(NeededFor(program, {ValueId{0}}).items(), ElementsAre(false, false, false, false));
}

TEST(Uses, DeadInstructionsGo) {
  Program program = Example();
  RemoveDead(program);
  EXPECT_THAT(Ops(program), ElementsAre("exp", "mul"));
}

// Effects stay, with their operands and the loops around them, and are not merged.
TEST(Uses, EffectsAreNotDead) {
  ops::Install();
  Program program = ParseProgram(R"(
func @main(%0: f32[4], %1: f32[4]) -> f32[4] {
  %2: f32[4] = exp %1
  debug_callback %2 {function=7}
  debug_callback %2 {function=7}
  %3: f32[4] = neg %1
  %4: f32[4] = scan %0 {constants=0, carries=1, length=3, reverse=false}
    region(%5: f32[4]) -> f32[4] {
      %6: f32[4] = exp %5
      ordered_callback %5 {function=8}
      return %5
    }
  return %0
})",
                                 Loc::Unknown());
  EXPECT_EQ(EffectOf(program.instructions[0]), Effect::kNone);
  EXPECT_EQ(EffectOf(program.instructions[1]), Effect::kUnordered);
  EXPECT_EQ(EffectOf(program.instructions[4]), Effect::kOrdered);
  Simplify(program);
  EXPECT_THAT(Ops(program), ElementsAre("exp", "debug_callback", "debug_callback", "scan"));
  RemoveEffects(program);
  EXPECT_THAT(Ops(program), ElementsAre("exp", "scan"));
  EXPECT_THAT(Ops(*program.instructions[1].regions[0]), ElementsAre("exp"));
  RemoveDead(program);
  EXPECT_THAT(Ops(program), ElementsAre());
}

TEST(Uses, WhatHasBecomeAnInputIsNotMade) {
  Program program = Example();
  program.inputs.push_back(program.instructions[0].results[0]);
  RemoveDead(program);
  EXPECT_THAT(Ops(program), ElementsAre("mul"));
}

TEST(Uses, NamesGoWithWhatTheyName) {
  Program program = Example();
  program.names = {{"argument", ValueId{1}}, {"dead", ValueId{5}}, {"used", ValueId{3}}};
  RemoveDead(program);
  EXPECT_THAT(program.names, ElementsAre(testing::Pair("argument", ValueId{1}),
                                         testing::Pair("used", ValueId{3})));
}

}  // namespace
}  // namespace tessera::ir

// Functions of regions that are recognised.
#include "stablehlo/read/expressions.h"

#include <gmock/gmock.h>

#include <string>

#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

// Returns the text of a module with a sort of x, y and z by a comparator of these operations.
std::string SortText(const std::string& comparator) {
  return FunctionText("%x: tensor<4xf32>, %y: tensor<4xi32>, %z: tensor<4xf32>",
                      R"(%0:3 = "stablehlo.sort"(%x, %y, %z) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>,
     %f: tensor<f32>):
)" + comparator + R"(
}) : (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) ->
    (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>))");
}

// As JAX compares floats.
const std::string kFloats = R"(%k = stablehlo.constant dense<0.0> : tensor<f32>
%n = stablehlo.constant dense<0x7FC00000> : tensor<f32>
%1 = stablehlo.compare EQ, %a, %k, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%2 = stablehlo.select %1, %k, %a : tensor<i1>, tensor<f32>
%3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%4 = stablehlo.select %3, %n, %2 : tensor<i1>, tensor<f32>
%5 = stablehlo.compare EQ, %b, %k, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%6 = stablehlo.select %5, %k, %b : tensor<i1>, tensor<f32>
%7 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%8 = stablehlo.select %7, %n, %6 : tensor<i1>, tensor<f32>
%9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
)";
// And then ints.
const std::string kTwoKeys = kFloats + R"(
%10 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
%11 = stablehlo.compare EQ, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
%12 = stablehlo.and %11, %10 : tensor<i1>
%13 = stablehlo.or %9, %12 : tensor<i1>
)";

// Returns the number of keys; negative if they are descending, 0 for an unknown comparator.
int64_t KeysOfText(const std::string& comparator) {
  const std::string text = SortText(comparator);
  const Module module = Read(text);
  const Operation& op = module.functions[0].body.operations[0];
  const auto keys = KeysOf(module, op.regions[0], {op.result_types.begin(), op.result_types.end()});
  return !keys ? 0 : keys->descending ? -keys->count : keys->count;
}

TEST(StablehloExpressions, OfJaxsComparatorsHaveKeys) {
  EXPECT_EQ(KeysOfText(kFloats + "stablehlo.return %9 : tensor<i1>"), 1);
  EXPECT_EQ(KeysOfText(kTwoKeys + "stablehlo.return %13 : tensor<i1>"), 2);
}

TEST(StablehloExpressions, OfOtherComparatorsHaveNone) {
  const std::string of_raw =
      "%1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "stablehlo.return %1 : tensor<i1>";
  EXPECT_EQ(KeysOfText(of_raw), 0);
  const std::string of_second =
      "%1 = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "stablehlo.return %1 : tensor<i1>";
  EXPECT_EQ(KeysOfText(of_second), 0);
  EXPECT_EQ(KeysOfText(kTwoKeys + "stablehlo.return %12 : tensor<i1>"), 0);
  EXPECT_EQ(KeysOfText(kFloats + "stablehlo.return %3 : tensor<i1>"), 0);
}

// The length of its text doubles with each line.
TEST(StablehloExpressions, OfManyUsesAreNoTexts) {
  std::string region = "%0 = stablehlo.add %a, %a : tensor<f32>\n";
  for (int k = 1; k < 60; ++k)
    region += "%" + std::to_string(k) + " = stablehlo.add %" + std::to_string(k - 1) + ", %" +
              std::to_string(k - 1) + " : tensor<f32>\n";
  const std::string text = SortText(region + "stablehlo.return %59 : tensor<f32>");
  const Module module = Read(text);
  EXPECT_THAT(ExpressionsOf(module, module.functions[0].body.operations[0].regions[0],
                            ComparedSides::kInTurn),
              testing::ElementsAre(""));
}

TEST(StablehloExpressions, OfPairsThatAreChosen) {
  const auto chosen = [](const std::string& direction, const std::string& index) {
    const std::string text = FunctionText(
        "%x: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<f32>, %n: tensor<i32>",
        R"(%0:2 = stablehlo.reduce(%x init: %s), (%i init: %n) across dimensions = [0] :
    (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
%1 = stablehlo.compare )" +
            direction +
            R"(, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%3 = stablehlo.or %1, %2 : tensor<i1>
%4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
%5 = stablehlo.compare )" +
            index +
            R"(, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
%6 = stablehlo.and %4, %5 : tensor<i1>
%7 = stablehlo.or %3, %6 : tensor<i1>
%8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
%9 = stablehlo.select %7, %c, %d : tensor<i1>, tensor<i32>
stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
})");
    const Module module = Read(text);
    return ChosenPairOf(module, module.functions[0].body.operations[0].regions[0]);
  };
  EXPECT_EQ(chosen("GT", "LT"), ChosenPair::kLarger);
  EXPECT_EQ(chosen("LT", "LT"), ChosenPair::kSmaller);
  EXPECT_EQ(chosen("GT", "GT"), ChosenPair::kNeither);
  EXPECT_EQ(chosen("GE", "LT"), ChosenPair::kNeither);
}

}  // namespace
}  // namespace tessera::stablehlo

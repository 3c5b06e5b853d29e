// Values of operations that the programs of tests/stablehlo/runner.cc do not have.
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "tessera/ops.h"
#include "tessera/stablehlo.h"

namespace tessera::stablehlo {
namespace {

using Numbers = std::vector<float>;

// Returns the numbers of all results, one after the other, of a function of x = [[1, 2, 3], [4, 5,
// 6]] (%x), s = 10 (%s) and i = [1, 0] (%i).
Numbers ValuesOf(const std::string& operations, const std::string& results) {
  const std::string text =
      "func.func @main(%x: tensor<2x3xf32>, %s: tensor<f32>, %i: tensor<2xi32>) -> (" + results +
      ") {\n" + operations + "\n}\n";
  const Array x = array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}), s = array(10.f);
  const Array i = array(std::vector<int32_t>{1, 0});
  Numbers all;
  for (const Array& y : to_function(import_stablehlo(text))({x, s, i})) {
    const Numbers part = y.astype(f32).to_vector<float>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

MATCHER_P(AreNear, numbers, "") {
  return testing::ExplainMatchResult(Pointwise(FloatNear(1e-5f), Numbers(numbers)), arg,
                                     result_listener);
}

TEST(StablehloOperations, OfOneFunctionPerElement) {
  EXPECT_THAT(ValuesOf(R"(%0 = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.constant dense<2.0> : tensor<f32>
      %2 = stablehlo.multiply %a, %1 : tensor<f32>
      %3 = stablehlo.add %2, %b : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>)",
                       "tensor<2x3xf32>"),
              ElementsAre(3, 6, 9, 12, 15, 18));
}

TEST(StablehloOperations, OfSubscripts) {
  EXPECT_THAT(ValuesOf(
                  R"(%0 = stablehlo.einsum %x, %x, config = "ab,cb->ac" : (tensor<2x3xf32>,
        tensor<2x3xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.unary_einsum %x, config = "ab->a" : (tensor<2x3xf32>) -> tensor<2xf32>
    return %0, %1 : tensor<2x2xf32>, tensor<2xf32>)",
                  "tensor<2x2xf32>, tensor<2xf32>"),
              ElementsAre(14, 32, 32, 77, 6, 15));
}

TEST(StablehloOperations, OfIndices) {
  EXPECT_THAT(
      ValuesOf(
          R"(%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> :
        (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>)",
          "tensor<2x2xf32>"),
      ElementsAre(2, 1, 5, 4));
}

TEST(StablehloOperations, OfSizesThatAreValues) {
  EXPECT_THAT(ValuesOf(R"(%n = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
    %zero = stablehlo.constant dense<0> : tensor<2xi32>
    %one = stablehlo.constant dense<1> : tensor<2xi32>
    %0 = stablehlo.dynamic_broadcast_in_dim %s, %n, dims = [] : (tensor<f32>, tensor<2xi32>) ->
        tensor<2x3xf32>
    %1 = stablehlo.dynamic_iota %n, dim = 1 : (tensor<2xi32>) -> tensor<2x3xf32>
    %2 = stablehlo.dynamic_reshape %x, %n : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<3x2xf32>
    %3 = stablehlo.real_dynamic_slice %x, %i, %n, %one : (tensor<2x3xf32>, tensor<2xi32>,
        tensor<2xi32>, tensor<2xi32>) -> tensor<1x3xf32>
    %4 = stablehlo.dynamic_pad %x, %s, %i, %zero, %i : (tensor<2x3xf32>, tensor<f32>,
        tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x3xf32>
    %5 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
    return %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>,
        tensor<1x3xf32>, tensor<4x3xf32>, tensor<i32>)",
                       "tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x3xf32>, "
                       "tensor<4x3xf32>, tensor<i32>"),
              ElementsAre(10, 10, 10, 10, 10, 10, 0, 1, 2, 0, 1, 2, 1, 2, 3, 4, 5, 6, 4, 5, 6, 10,
                          10, 10, 1, 2, 3, 10, 10, 10, 4, 5, 6, 3));
}

TEST(StablehloOperations, OfBatchNorm) {
  const float mean[] = {2.5, 3.5, 4.5}, variance = 2.25, deviation = std::sqrt(variance + 0.25f);
  Numbers normal, all;
  for (int k = 0; k < 6; ++k)
    normal.push_back((static_cast<float>(k + 1) - mean[k % 3]) / deviation);
  all = normal;
  for (float m : mean) all.push_back(m);
  for (int k = 0; k < 3; ++k) all.push_back(variance);
  all.insert(all.end(), normal.begin(), normal.end());
  // The gradient of ones: their sums, and 0 for a constant.
  for (int k = 0; k < 6; ++k) all.push_back(0);
  for (int k = 0; k < 3; ++k) all.push_back(0);
  for (int k = 0; k < 3; ++k) all.push_back(2);
  EXPECT_THAT(
      ValuesOf(R"(%one = stablehlo.constant dense<1.0> : tensor<3xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<3xf32>
    %ones = stablehlo.constant dense<1.0> : tensor<2x3xf32>
    %0:3 = "stablehlo.batch_norm_training"(%x, %one, %zero) <{epsilon = 0.25 : f32, feature_index
        = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>,
        tensor<3xf32>, tensor<3xf32>)
    %1 = "stablehlo.batch_norm_inference"(%x, %one, %zero, %0#1, %0#2) <{epsilon = 0.25 : f32,
        feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
        tensor<3xf32>) -> tensor<2x3xf32>
    %2:3 = "stablehlo.batch_norm_grad"(%x, %one, %0#1, %0#2, %ones) <{epsilon = 0.25 : f32,
        feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
        tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return %0#0, %0#1, %0#2, %1, %2#0, %2#1, %2#2 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>,
        tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)",
               "tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, "
               "tensor<3xf32>, tensor<3xf32>"),
      AreNear(all));
}

TEST(StablehloOperations, OfOperandsThatBroadcast) {
  EXPECT_THAT(
      ValuesOf(R"(%0 = chlo.broadcast_add %x, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %1 = stablehlo.convert %i : (tensor<2xi32>) -> tensor<2xf32>
    %2 = "chlo.broadcast_multiply"(%x, %1) <{broadcast_dimensions = array<i64: 0>}> :
        (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
    %3 = "chlo.constant_like"(%i) <{value = 7 : i32}> : (tensor<2xi32>) -> tensor<2xi32>
    %4 = "stablehlo.broadcast"(%i) <{broadcast_sizes = array<i64: 2>}> : (tensor<2xi32>) ->
        tensor<2x2xi32>
    return %0, %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi32>, tensor<2x2xi32>)",
               "tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xi32>, tensor<2x2xi32>"),
      ElementsAre(11, 12, 13, 14, 15, 16, 1, 2, 3, 0, 0, 0, 7, 7, 1, 0, 1, 0));
}

TEST(StablehloOperations, OfInfinities) {
  EXPECT_THAT(
      ValuesOf(R"(%0 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 1.0]> : tensor<3xf32>
    %1 = chlo.is_inf %0 : tensor<3xf32> -> tensor<3xi1>
    %2 = chlo.is_pos_inf %0 : tensor<3xf32> -> tensor<3xi1>
    %3 = chlo.is_neg_inf %0 : tensor<3xf32> -> tensor<3xi1>
    return %1, %2, %3 : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>)",
               "tensor<3xi1>, tensor<3xi1>, tensor<3xi1>"),
      ElementsAre(1, 1, 0, 1, 0, 0, 0, 1, 0));
}

TEST(StablehloOperations, OfSteps) {
  EXPECT_THAT(
      ValuesOf(R"(%0:2 = chlo.scan(%x) inits (%s) dimension=1 attributes {is_reverse = false} {
    ^bb0(%v: tensor<2xf32>, %c: tensor<f32>):
      %1 = stablehlo.constant dense<1.0> : tensor<f32>
      %2 = stablehlo.add %c, %1 : tensor<f32>
      %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %4 = stablehlo.add %v, %3 : tensor<2xf32>
      stablehlo.return %4, %2 : tensor<2xf32>, tensor<f32>
    } : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>)
    return %0#0, %0#1 : tensor<2x3xf32>, tensor<f32>)",
               "tensor<2x3xf32>, tensor<f32>"),
      ElementsAre(11, 13, 15, 14, 16, 18, 13));
}

TEST(StablehloOperations, OfSeveralArraysThatAreUpdated) {
  // Index 5 is dropped; index 1 has two updates, in their order.
  EXPECT_THAT(ValuesOf(R"(%at = stablehlo.constant dense<[[1], [5], [1]]> : tensor<3x1xi32>
    %u = stablehlo.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
    %v = stablehlo.constant dense<[7, 8, 9]> : tensor<3xi32>
    %a = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
    %0:2 = "stablehlo.scatter"(%a, %i, %at, %u, %v) <{scatter_dimension_numbers =
        #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
        index_vector_dim = 1>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<i32>, %r: tensor<f32>, %t: tensor<i32>):
      %1 = stablehlo.subtract %r, %p : tensor<f32>
      stablehlo.return %1, %t : tensor<f32>, tensor<i32>
    }) : (tensor<2xf32>, tensor<2xi32>, tensor<3x1xi32>, tensor<3xf32>, tensor<3xi32>) ->
        (tensor<2xf32>, tensor<2xi32>)
    return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>)",
                       "tensor<2xf32>, tensor<2xi32>"),
              ElementsAre(10, 22, 1, 9));
}

TEST(StablehloOperations, OfUpdatesInTurn) {
  // (1 - 2) - 3, and ||1 - 2| - 3|, whose updates cannot be combined first.
  const auto scattered = [](const std::string& function) {
    return ValuesOf(R"(%at = stablehlo.constant dense<[[0], [1], [0]]> : tensor<3x1xi32>
    %u = stablehlo.constant dense<[2.0, 4.0, 3.0]> : tensor<3xf32>
    %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = "stablehlo.scatter"(%a, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %1 = stablehlo.subtract %p, %q : tensor<f32>
      )" + function + R"(
    }) : (tensor<2xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>)",
                    "tensor<2xf32>");
  };
  EXPECT_THAT(scattered("stablehlo.return %1 : tensor<f32>"), ElementsAre(-4, -2));
  EXPECT_THAT(scattered("%2 = stablehlo.abs %1 : tensor<f32>\nstablehlo.return %2 : tensor<f32>"),
              ElementsAre(2, 2));
}

TEST(StablehloOperations, OfWindowsOverAllEarlierElements) {
  const auto windows = [](const std::string& padding) {
    return ValuesOf(R"(%0 = "stablehlo.reduce_window"(%x, %s) <{window_dimensions =
        array<i64: 1, 3>, padding = dense<)" +
                        padding + R"(> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>)",
                    "tensor<2x3xf32>");
  };
  EXPECT_THAT(windows("[[0, 0], [2, 0]]"), ElementsAre(11, 13, 16, 14, 19, 25));
  EXPECT_THAT(windows("[[0, 0], [0, 2]]"), ElementsAre(16, 15, 13, 25, 21, 16));
  EXPECT_THAT(windows("[[0, 0], [1, 1]]"), ElementsAre(13, 16, 15, 19, 25, 21));
}

TEST(StablehloOperations, OfSelectedElements) {
  // The smallest element of each window takes the product of the source's elements.
  EXPECT_THAT(ValuesOf(R"(%c = stablehlo.constant dense<[[2.0, 3.0]]> : tensor<1x2xf32>
    %0 = "stablehlo.select_and_scatter"(%x, %c, %s) <{window_dimensions = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<f32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>)",
                       "tensor<2x3xf32>"),
              ElementsAre(20, 30, 10, 10, 10, 10));
}

TEST(StablehloOperations, OfRandomNumbersAreInTheirRange) {
  const Numbers drawn = ValuesOf(R"(%n = stablehlo.constant dense<[100]> : tensor<1xi64>
    %0 = stablehlo.constant dense<8.0> : tensor<f32>
    %1 = stablehlo.rng %0, %s, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>,
        tensor<1xi64>) -> tensor<100xf32>
    return %1 : tensor<100xf32>)",
                                 "tensor<100xf32>");
  EXPECT_THAT(drawn, testing::Each(testing::AllOf(testing::Ge(8), testing::Lt(10))));
  EXPECT_NE(drawn[0], drawn[1]);
}

TEST(StablehloOperations, OfCustomCallsOfOlderTexts) {
  EXPECT_THAT(
      ValuesOf(
          R"(%0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest
        = true}} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %1 = stablehlo.custom_call @mhlo.asinh(%s) : (tensor<f32>) -> tensor<f32>
    return %0#0, %0#1, %1 : tensor<2x2xf32>, tensor<2x2xi32>, tensor<f32>)",
          "tensor<2x2xf32>, tensor<2x2xi32>, tensor<f32>"),
      AreNear(Numbers{3, 2, 6, 5, 2, 1, 2, 1, std::asinh(10.f)}));
}

}  // namespace
}  // namespace tessera::stablehlo

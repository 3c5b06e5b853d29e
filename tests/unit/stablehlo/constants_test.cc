// Decoding of constants: each form and element type, and refusals.
#include "stablehlo/text/constants.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "stablehlo/text/tree.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

using ::testing::ElementsAre;

std::string ConstantText(const std::string& constant) {
  return "func.func @f() {\n%0 = stablehlo.constant " + constant + "\nreturn }";
}

// Returns the numbers of a constant as T.
template <class T>
std::vector<T> Decoded(const std::string& constant, RoundNarrow round = nullptr) {
  const std::string text = ConstantText(constant);
  const Module module = Read(text);
  const Attribute& value = *module.functions[0].body.operations[0].Find("value");
  const size_t parts = FormatOf(value.type->element).is_complex ? 2 : 1;
  std::vector<T> numbers(static_cast<size_t>(value.type->count) * parts);
  DecodeConstant(module, value, sizeof(T), std::as_writable_bytes(std::span(numbers)), round);
  return numbers;
}

template <class T>
std::string RefusalOf(const std::string& constant) {
  try {
    Decoded<T>(constant);
  } catch (const RuntimeError& e) {
    return e.where().substr(sizeof("test.mlir:") - 1) + ": " + e.reason();
  }
  return "nothing was refused";
}

TEST(StablehloConstants, ListsAndSplats) {
  EXPECT_THAT(Decoded<float>("dense<1.5> : tensor<2x2xf32>"), ElementsAre(1.5, 1.5, 1.5, 1.5));
  EXPECT_THAT(Decoded<float>("dense<1.5> : tensor<f32>"), ElementsAre(1.5));
  EXPECT_THAT(Decoded<float>("dense<1.5> : tensor<0xf32>"), ElementsAre());
  EXPECT_THAT(Decoded<float>("dense<> : tensor<0x3xf32>"), ElementsAre());
  EXPECT_THAT(Decoded<int32_t>("dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>"),
              ElementsAre(1, -2, 3, 4));
  EXPECT_THAT(Decoded<uint8_t>("dense<[true, false]> : tensor<2xi1>"), ElementsAre(1, 0));
  EXPECT_THAT(Decoded<float>("dense<[(1.0, 2.0), (-0.0, 4e2)]> : tensor<2xcomplex<f32>>"),
              ElementsAre(1, 2, 0, 400));
  EXPECT_THAT(Decoded<double>("dense<(1.0, 2.0)> : tensor<2xcomplex<f64>>"),
              ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(Decoded<int64_t>("dense<[0, 1]> : tensor<2xindex>"), ElementsAre(0, 1));
}

TEST(StablehloConstants, Bytes) {
  EXPECT_THAT(Decoded<float>("dense<\"0x0000803F000000C0\"> : tensor<2xf32>"), ElementsAre(1, -2));
  EXPECT_THAT(Decoded<float>("dense<\"0x0000803F\"> : tensor<3xf32>"), ElementsAre(1, 1, 1));
  EXPECT_THAT(Decoded<int16_t>("dense<\"0x0100FFFF\"> : tensor<2xi16>"), ElementsAre(1, -1));
  EXPECT_THAT(Decoded<int64_t>("dense<\"0x0100FFFF\"> : tensor<2xi16>"), ElementsAre(1, -1));
  EXPECT_THAT(Decoded<int8_t>("dense<\"0x07080F\"> : tensor<3xi4>"), ElementsAre(7, -8, -1));
  EXPECT_THAT(Decoded<uint8_t>("dense<\"0x0302\"> : tensor<2xui2>"), ElementsAre(3, 2));
  EXPECT_THAT(Decoded<float>("dense<\"0x803F00C0\"> : tensor<2xbf16>"), ElementsAre(1, -2));
  EXPECT_THAT(Decoded<uint16_t>("dense<\"0x803F00C0\"> : tensor<2xbf16>"),
              ElementsAre(0x3f80, 0xc000));
  EXPECT_THAT(Decoded<float>("dense<\"0x0000803F00000040\"> : tensor<1xcomplex<f32>>"),
              ElementsAre(1, 2));
}

TEST(StablehloConstants, BoolsHaveAByteOrABitEach) {
  const std::vector<uint8_t> expected = {1, 0, 1, 0, 0, 0, 0, 0, 1, 1};
  EXPECT_EQ(Decoded<uint8_t>("dense<\"0x01000100000000000101\"> : tensor<10xi1>"), expected);
  EXPECT_EQ(Decoded<uint8_t>("dense<\"0x0503\"> : tensor<10xi1>"), expected);
  EXPECT_THAT(Decoded<uint8_t>("dense<\"0xFF\"> : tensor<9xi1>"),
              ::testing::Each(::testing::Eq(1)));
  EXPECT_THAT(Decoded<int32_t>("dense<\"0xFF\"> : tensor<1xi1>"), ElementsAre(1));
}

TEST(StablehloConstants, DecimalsAreRoundedOnce) {
  EXPECT_THAT(Decoded<float>("dense<0.333333343> : tensor<f32>"), ElementsAre(1.0f / 3));
  EXPECT_THAT(Decoded<double>("dense<0.1> : tensor<f32>"), ElementsAre(double{0.1f}));
  EXPECT_THAT(Decoded<double>("dense<4.9303806576313238E-32> : tensor<f64>"),
              ElementsAre(0x1p-104));
  EXPECT_THAT(Decoded<double>("dense<4.9406564584124654e-324> : tensor<f64>"),
              ElementsAre(std::numeric_limits<double>::denorm_min()));
  EXPECT_THAT(Decoded<float>("dense<0.1> : tensor<f64>"), ElementsAre(0.1f));
  // Halfway between two numbers of f16 and a little above; f32 does not see the little.
  EXPECT_THAT(Decoded<uint16_t>("dense<1.00048828125> : tensor<f16>"), ElementsAre(0x3c00));
  EXPECT_THAT(Decoded<uint16_t>("dense<1.0004882812500003> : tensor<f16>"), ElementsAre(0x3c01));
  EXPECT_THAT(Decoded<uint16_t>("dense<-1.0004882812500003> : tensor<f16>"), ElementsAre(0xbc01));
  EXPECT_THAT(Decoded<uint16_t>("dense<1.00390625000000001> : tensor<bf16>"), ElementsAre(0x3f80));
  EXPECT_THAT(Decoded<uint16_t>("dense<1.0039062500000003> : tensor<bf16>"), ElementsAre(0x3f81));
}

TEST(StablehloConstants, BitsOfFloats) {
  EXPECT_TRUE(std::isnan(Decoded<float>("dense<0x7FC00000> : tensor<f32>")[0]));
  EXPECT_THAT(Decoded<float>("dense<[0xFF800000, 1.0]> : tensor<2xf32>"),
              ElementsAre(-std::numeric_limits<float>::infinity(), 1));
  EXPECT_THAT(Decoded<double>("dense<0x7FF0000000000000> : tensor<f64>"),
              ElementsAre(std::numeric_limits<double>::infinity()));
  EXPECT_THAT(Decoded<uint16_t>("dense<0x7FC0> : tensor<bf16>"), ElementsAre(0x7fc0));
  EXPECT_THAT(Decoded<float>("dense<0x7C00> : tensor<f16>"),
              ElementsAre(std::numeric_limits<float>::infinity()));
  EXPECT_THAT(Decoded<uint8_t>("dense<0x7F> : tensor<f8E4M3FN>"), ElementsAre(0x7f));
}

TEST(StablehloConstants, FloatsOfEightBitsAreRoundedByTheCaller) {
  const RoundNarrow round = [](std::string_view type, double value, uint8_t& bits) {
    bits = static_cast<uint8_t>(value);
    return type == "f8E5M2";
  };
  EXPECT_THAT(Decoded<uint8_t>("dense<[1.0, 2.0]> : tensor<2xf8E5M2>", round), ElementsAre(1, 2));
  EXPECT_EQ(RefusalOf<uint8_t>("dense<1.0> : tensor<f8E4M3FN>"),
            "2:34: numbers of f8E4M3FN are not read");
}

TEST(StablehloConstants, LimitsOfIntegers) {
  EXPECT_THAT(Decoded<int64_t>("dense<[-9223372036854775808, 9223372036854775807]> : "
                               "tensor<2xi64>"),
              ElementsAre(INT64_MIN, INT64_MAX));
  EXPECT_THAT(Decoded<uint64_t>("dense<18446744073709551615> : tensor<ui64>"),
              ElementsAre(UINT64_MAX));
  EXPECT_THAT(Decoded<int8_t>("dense<-8> : tensor<i4>"), ElementsAre(-8));
  EXPECT_EQ(RefusalOf<int8_t>("dense<8> : tensor<i4>"), "2:32: 8 does not fit into i4");
  EXPECT_EQ(RefusalOf<uint8_t>("dense<-1> : tensor<ui8>"), "2:33: -1 does not fit into ui8");
  EXPECT_EQ(RefusalOf<int32_t>("dense<2147483648> : tensor<i64>"),
            "2:41: a number of this constant does not fit into 32 bits");
  EXPECT_EQ(RefusalOf<int32_t>("dense<-2147483649> : tensor<i64>"),
            "2:42: a number of this constant does not fit into 32 bits");
  EXPECT_THAT(Decoded<int32_t>("dense<-2147483648> : tensor<i64>"), ElementsAre(INT32_MIN));
}

TEST(StablehloConstants, Refusals) {
  EXPECT_EQ(RefusalOf<float>("dense<[1.0, 2.0]> : tensor<3xf32>"),
            "2:40: the type has 3 elements here, but the list has 2");
  EXPECT_EQ(RefusalOf<float>("dense<[1.0, 2.0]> : tensor<1xf32>"),
            "2:35: the list has more than the 1 elements of the type");
  EXPECT_EQ(RefusalOf<float>("dense<[1.0, 2.0]> : tensor<2x1xf32>"), "2:32: expected '['");
  EXPECT_EQ(RefusalOf<float>("dense<true> : tensor<f32>"), "2:31: expected a number");
  EXPECT_EQ(RefusalOf<uint8_t>("dense<yes> : tensor<i1>"), "2:31: expected true or false");
  EXPECT_EQ(RefusalOf<float>("dense<1.0 2.0> : tensor<f32>"),
            "2:34: expected the end of the constant");
  EXPECT_EQ(RefusalOf<int32_t>("dense<1.0> : tensor<i32>"), "2:34: expected an integer");
  EXPECT_EQ(RefusalOf<float>("dense<1e999> : tensor<f32>"), "2:36: the number is out of range");
  EXPECT_EQ(RefusalOf<float>("dense<0x7FC000000> : tensor<f32>"),
            "2:42: these bits do not fit into f32");
  EXPECT_EQ(RefusalOf<float>("dense<\"0x0000\"> : tensor<f32>"),
            "2:31: the constant has 2 bytes, but its type has 4");
  EXPECT_EQ(RefusalOf<float>("dense<\"0x0000803G\"> : tensor<f32>"), "2:40: expected hex digits");
  EXPECT_EQ(RefusalOf<float>("dense<\"beef\"> : tensor<f32>"),
            "2:31: the bytes of a constant are \"0x\" and pairs of hex digits");
  EXPECT_EQ(RefusalOf<uint8_t>("dense<\"0x0000\"> : tensor<3xi1>"),
            "2:31: the constant has 2 bytes, but its type has 3 elements");
  EXPECT_EQ(RefusalOf<uint16_t>("dense<1.0> : tensor<f32>"),
            "2:31: a constant of f32 cannot be read as numbers of 2 bytes");
  EXPECT_EQ(RefusalOf<float>("dense<1.0> : tensor<tf32>"), "2:31: constants of tf32 are not read");
}

TEST(StablehloConstants, NumbersAndListsOfAttributes) {
  const std::string text = FunctionText(
      "%a: tensor<f32>",
      "stablehlo.custom_call @f(%a) {i = -3 : i8, b = true, u = 200 : ui8, f = 2.5 : bf16, h = "
      "0x7F800000 : f32, l = array<i64: 1, 2>, d = dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, s = "
      "dense<5> : tensor<2xi32>, m = [1 : i32, 2 : i32], big = dense<1> : tensor<99999999xi64>, w "
      "= "
      "#stablehlo.gather<offset_dims = [7], index_vector_dim = 2>, n = \"x\"} : (tensor<f32>) -> "
      "()");
  const Module module = Read(text);
  const Operation& call = module.functions[0].body.operations[0];
  const auto integer = [&](const char* name) { return IntegerOf(module, *call.Find(name)); };
  const auto integers = [&](const char* name) { return IntegersOf(module, *call.Find(name)); };
  EXPECT_EQ(integer("i"), -3);
  EXPECT_EQ(integer("b"), 1);
  EXPECT_EQ(integer("u"), 200);
  EXPECT_EQ(IntegerOf(module, *call.Find("w")->Find("index_vector_dim")), 2);
  EXPECT_EQ(FloatOf(module, *call.Find("f")), 2.5);
  EXPECT_EQ(FloatOf(module, *call.Find("h")), std::numeric_limits<double>::infinity());
  EXPECT_THAT(integers("l"), ElementsAre(1, 2));
  EXPECT_THAT(integers("d"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(integers("s"), ElementsAre(5, 5));
  EXPECT_THAT(integers("m"), ElementsAre(1, 2));
  EXPECT_THAT(IntegersOf(module, *call.Find("w")->Find("offset_dims")), ElementsAre(7));
  for (const char* name : {"f", "n", "l"}) EXPECT_THROW(integer(name), RuntimeError) << name;
  for (const char* name : {"i", "n", "big"}) EXPECT_THROW(integers(name), RuntimeError) << name;
  EXPECT_THROW(FloatOf(module, *call.Find("i")), RuntimeError);
}

TEST(StablehloConstants, NumbersOfPrettyForms) {
  const std::string text =
      FunctionText("%a: tensor<4x4xf32>",
                   "%0 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>\n"
                   "%1 = sdy.propagation_barrier %a allowed_direction=BACKWARD : tensor<4x4xf32>\n"
                   "%2 = stablehlo.reduce_precision %a, format = e8m7 : tensor<4x4xf32>");
  const Module module = Read(text);
  const auto operations = module.functions[0].body.operations;
  EXPECT_EQ(IntegerOf(module, *operations[0].Find("lower")), 1);
  EXPECT_EQ(IntegerOf(module, *operations[1].Find("allowed_direction")), 2);
  EXPECT_EQ(IntegerOf(module, *operations[2].Find("mantissa_bits")), 7);
}

}  // namespace
}  // namespace tessera::stablehlo

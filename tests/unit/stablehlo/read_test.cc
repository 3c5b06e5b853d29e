// Reading and printing StableHLO text: the tree of each form.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "stablehlo/text/print.h"
#include "stablehlo/text/tree.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns the generic text of the operations of a function.
std::string Generic(const std::string& arguments, const std::string& operations) {
  const std::string text = FunctionText(arguments, operations);
  const std::string printed = GenericText(Read(text));
  const size_t begin = printed.find(":\n") + 2;
  return printed.substr(begin, printed.find("\"func.return\"") - begin);
}

TEST(StablehloText, PrettyAndGenericFormsGiveOneTree) {
  int pairs = 0;
  for (const auto& file : TextFiles()) {
    const std::string generic = file.parent_path() / (file.stem().string() + ".generic.mlir");
    if (!std::filesystem::exists(generic)) continue;
    ++pairs;
    EXPECT_EQ(GenericText(ReadModuleFile(file)), GenericText(ReadModuleFile(generic))) << file;
  }
  EXPECT_GE(pairs, 3);
}

TEST(StablehloText, PrintedTextReadsBack) {
  for (const auto& file : TextFiles()) {
    for (const auto locations : {PrintLocations::kNo, PrintLocations::kYes}) {
      const std::string printed = GenericText(ReadModuleFile(file), locations);
      const Module again = Read(printed);
      EXPECT_EQ(GenericText(again), GenericText(ReadModuleFile(file))) << file;
    }
  }
}

// TESSERA_STABLEHLO_TEXTS may name a folder of other texts.
TEST(StablehloText, TextsOfAFolderReadBack) {
  const char* other = std::getenv("TESSERA_STABLEHLO_TEXTS");
  const std::filesystem::path cases =
      std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/stablehlo/cases";
  const std::filesystem::path folder = other != nullptr ? std::filesystem::path(other) : cases;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".mlir") continue;
    const std::string printed = GenericText(ReadModuleFile(entry.path()));
    EXPECT_EQ(GenericText(Read(printed)), printed) << entry.path();
  }
}

TEST(StablehloText, ValuesHaveNumbersInTheirFunction) {
  const std::string text = R"(module @m attributes {a = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
  func.func public @main(%arg0: tensor<4xf32> {jax.buffer_donor = true}, %arg1: tensor<i32>)
      -> (tensor<4xf32> {jax.result_info = "r"}) {
    %0:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg0) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %arg1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @f(%iterArg_0) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %iterArg, %1 : tensor<i32>, tensor<4xf32>
    }
    %1 = stablehlo.add %0#1, %arg0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
})";
  const Module module = Read(text);
  EXPECT_EQ(module.name, "m");
  ASSERT_EQ(module.meshes.size(), 1u);
  EXPECT_EQ(module.meshes[0].name, "mesh");
  EXPECT_EQ(module.meshes[0].mesh.text, "<[\"x\"=2]>");
  const TextFunction& main = *module.FindFunction("main");
  EXPECT_EQ(main.visibility, "public");
  ASSERT_EQ(main.argument_attributes.size(), 2u);
  EXPECT_NE(main.argument_attributes[0].Find("jax.buffer_donor"), nullptr);
  ASSERT_EQ(main.body.operations.size(), 3u);
  const Operation& loop = main.body.operations[0];
  EXPECT_EQ(loop.name, "stablehlo.while");
  EXPECT_THAT(loop.operands, ElementsAre(1, 0));
  ASSERT_EQ(loop.regions.size(), 2u);
  EXPECT_EQ(loop.regions[0].first_argument, 2u);
  EXPECT_THAT(loop.regions[0].operations[0].operands, ElementsAre(2, 1));
  EXPECT_EQ(loop.regions[1].first_argument, 5u);
  EXPECT_THAT(loop.regions[1].operations[1].operands, ElementsAre(5, 7));
  EXPECT_EQ(loop.first_result, 8u);
  EXPECT_EQ(main.values[9].name, "0");
  EXPECT_EQ(main.values[9].result, 1u);
  const Operation& sum = main.body.operations[1];
  EXPECT_THAT(sum.operands, ElementsAre(9, 0));
  EXPECT_EQ(sum.result_types[0], main.type->operands[0]);
  EXPECT_THAT(sum.result_types[0]->dims, ElementsAre(4));
  EXPECT_EQ(sum.result_types[0]->element, "f32");
  EXPECT_EQ(text.substr(sum.place, 13), "stablehlo.add");
}

TEST(StablehloText, NamesOfInnerRegionsHideOuterOnes) {
  EXPECT_EQ(Generic("%a: tensor<i32>, %b: tensor<i32>",
                    "%0 = \"stablehlo.case\"(%a) ({\n"
                    "  %a = stablehlo.negate %b : tensor<i32>\n"
                    "  stablehlo.return %a : tensor<i32>\n"
                    "}, {\n"
                    "  stablehlo.return %a : tensor<i32>\n"
                    "}) : (tensor<i32>) -> tensor<i32>"),
            "%3 = \"stablehlo.case\"(%0) ({\n"
            "%2 = \"stablehlo.negate\"(%1) : (tensor<i32>) -> (tensor<i32>)\n"
            "\"stablehlo.return\"(%2) : (tensor<i32>) -> ()\n"
            "}, {\n"
            "\"stablehlo.return\"(%0) : (tensor<i32>) -> ()\n"
            "}) : (tensor<i32>) -> (tensor<i32>)\n");
}

TEST(StablehloText, AttributesHaveTheirKinds) {
  const std::string text = FunctionText(
      "%a: tensor<4xf32>",
      R"(stablehlo.custom_call @f(%a) {n = -3 : i8, t = true, s = "a\22\C3\A9\\", y = @"b c",
      u, list = [1, "x"], d = {k = 2.5 : f32}, ints = array<i1: true, false>,
      w = #stablehlo<precision HIGH>, r = #stablehlo.gather<offset_dims = [1], index_vector_dim = 2>,
      sh = #sdy.sharding<@mesh, [{"x"}]>, f = (i32) -> (), c = dense<[1, 2]> : tensor<2xi8>,
      ps = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, []>]>,
      cv = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, "q x" = f8E4M3FN}
      : (tensor<4xf32>) -> ())");
  const Module module = Read(text);
  const Operation& call = module.functions[0].body.operations[0];
  using Kind = Attribute::Kind;
  const auto kind = [&](const char* name) { return call.Find(name)->kind; };
  EXPECT_EQ(call.Find("n")->text, "-3");
  EXPECT_EQ(call.Find("n")->type->text, "i8");
  EXPECT_EQ(call.Find("t")->type->text, "i1");
  EXPECT_EQ(call.Find("s")->text, "a\"\xC3\xA9\\");
  EXPECT_EQ(kind("y"), Kind::kSymbol);
  EXPECT_EQ(call.Find("y")->text, "b c");
  EXPECT_EQ(kind("u"), Kind::kUnit);
  EXPECT_EQ(call.Find("list")->items()[0].type->text, "i64");
  EXPECT_EQ(call.Find("d")->Find("k")->text, "2.5");
  EXPECT_THAT(call.Find("ints")->numbers(), ElementsAre(1, 0));
  EXPECT_EQ(call.Find("w")->name, "stablehlo.precision");
  EXPECT_EQ(call.Find("w")->text, "HIGH");
  EXPECT_THAT(call.Find("r")->Find("offset_dims")->numbers(), ElementsAre(1));
  EXPECT_EQ(call.Find("r")->Find("index_vector_dim")->text, "2");
  EXPECT_EQ(call.Find("sh")->name, "sdy.sharding");
  EXPECT_EQ(call.Find("sh")->text, "<@mesh, [{\"x\"}]>");
  EXPECT_EQ(kind("f"), Kind::kType);
  EXPECT_EQ(call.Find("c")->form, Attribute::DenseForm::kList);
  ASSERT_EQ(call.Find("ps")->items().size(), 2u);
  EXPECT_EQ(call.Find("ps")->items()[1].text, "<@mesh, []>");
  ASSERT_EQ(call.Find("cv")->items().size(), 3u);
  EXPECT_EQ(call.Find("cv")->items()[1].items()[2].text, "o");
  EXPECT_EQ(call.Find("q x")->type->text, "f8E4M3FN");
  EXPECT_EQ(call.Find("call_target_name")->text, "f");
  EXPECT_EQ(call.Find("none"), nullptr);
}

TEST(StablehloText, AliasesStandForAttributes) {
  const std::string text =
      "#map = [1 : i32]\n" +
      FunctionText("%a: tensor<f32>", "%0 = stablehlo.abs %a {x = #map} : tensor<f32>");
  EXPECT_THAT(GenericText(Read(text)), HasSubstr("\"stablehlo.abs\"(%0) {x = [1 : i32]}"));
}

TEST(StablehloText, AShortReductionIsARegion) {
  EXPECT_EQ(Generic("%a: tensor<4xf32>, %b: tensor<f32>",
                    "%0 = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = "
                    "[0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>"),
            "%5 = \"stablehlo.reduce\"(%0, %1) ({\n"
            "^bb0(%2: tensor<f32>, %3: tensor<f32>):\n"
            "%4 = \"stablehlo.add\"(%2, %3) : (tensor<f32>, tensor<f32>) -> (tensor<f32>)\n"
            "\"stablehlo.return\"(%4) : (tensor<f32>) -> ()\n"
            "}) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> (tensor<f32>)\n");
}

TEST(StablehloText, BlanksAndCommentsMeanNothing) {
  EXPECT_EQ(Generic("%a:tensor< 2 x f32 >", "// why\n%0=stablehlo.abs%a:tensor<2xf32>//x"),
            "%1 = \"stablehlo.abs\"(%0) : (tensor<2xf32>) -> (tensor<2xf32>)\n");
}

TEST(StablehloText, TypesOfTensors) {
  const std::string text = FunctionText(
      "%a: tensor<0x?x3xcomplex<f64>>, %b: tensor<ui4>, %c: tensor<2xi8, #x.y<\">\">>,"
      "%d: tuple<tensor<f32>, !stablehlo.token>",
      "");
  const Module module = Read(text);
  const std::vector<TextValue>& values = module.functions[0].values;
  EXPECT_THAT(values[0].type->dims, ElementsAre(0, kOpenSize, 3));
  EXPECT_EQ(values[0].type->element, "complex<f64>");
  EXPECT_EQ(values[0].type->count, kOpenSize);
  EXPECT_EQ(values[1].type->count, 1);
  EXPECT_EQ(values[2].type->encoding, "#x.y<\">\">");
  EXPECT_EQ(values[3].type->kind, TextType::Kind::kTuple);
  EXPECT_EQ(values[3].type->results[1]->text, "!stablehlo.token");
}

}  // namespace
}  // namespace tessera::stablehlo

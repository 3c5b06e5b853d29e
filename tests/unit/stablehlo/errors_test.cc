// Refusals of StableHLO text, each with its place.
#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "fuzz.h"
#include "mutate.h"
#include "stablehlo/text/print.h"
#include "stablehlo/text/tree.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

// Returns "line:column: reason" of the refusal of a text.
std::string RefusalOf(const std::string& text) {
  try {
    Read(text);
  } catch (const RuntimeError& e) {
    return e.where().substr(sizeof("test.mlir:") - 1) + ": " + e.reason();
  }
  return "nothing was refused";
}

// As above, of operations of a function of some arguments; they are line 1 of the text.
std::string RefusalIn(const std::string& operations) {
  return RefusalOf("func.func @main(%a: tensor<4xf32>, %s: tensor<f32>, %i: tensor<i32>) {" +
                   std::string("\n") + operations + "\nreturn }");
}

struct BadText {
  const char *text, *refusal;
};

TEST(StablehloErrors, OfOperations) {
  const BadText cases[] = {
      {"%0 = stablehlo.abs %b : tensor<4xf32>", "2:20: %b is not defined here"},
      {"%0 = stablehlo.abs %0 : tensor<4xf32>", "2:20: %0 is not defined here"},
      {"%0 = stablehlo.abs %a#1 : tensor<4xf32>",
       "2:20: %a stands for 1 value, so there is no %a#1"},
      {"%a = stablehlo.abs %a : tensor<4xf32>", "2:1: %a is defined twice in this region"},
      {"%0 = stablehlo.abs %a : tensor<5xf32>",
       "2:25: operand 0 of stablehlo.abs is tensor<4xf32>, but its type here is tensor<5xf32>"},
      {"%0 = \"stablehlo.abs\"(%a) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>",
       "2:28: stablehlo.abs has 1 operand, but there are types of 2"},
      {"%0:2 = stablehlo.abs %a : tensor<4xf32>",
       "2:1: stablehlo.abs has 1 result, which are fewer than the names here"},
      {"%0 = stablehlo.optimization_barrier %a, %a : tensor<4xf32>, tensor<4xf32>",
       "2:6: stablehlo.optimization_barrier has 2 results, but 1 name"},
      {"%0:0 = stablehlo.abs %a : tensor<4xf32>", "2:4: a name stands for at least one result"},
      {"%0 = tosa.abs %a : tensor<4xf32>",
       "2:6: unknown operation \"tosa.abs\": func, stablehlo, chlo and sdy are read"},
      {"%0 = stablehlo.frob %a : tensor<4xf32>",
       "2:6: stablehlo.frob has no pretty form here; print the module with "
       "get_asm(print_generic_op_form=True)"},
      {"%0 = stablehlo.abs %a : tensor<4xf32", "3:8: expected '>'"},
      {"%0 = stablehlo.abs %a tensor<4xf32>", "2:23: expected ':'"},
      {"%0 = stablehlo.add %a : tensor<4xf32>", "2:23: expected ','"},
      {"%0 = stablehlo.transpose %a, dims = [0.5] : (tensor<4xf32>) -> tensor<4xf32>",
       "2:38: expected an integer"},
      {"%0 = stablehlo.transpose %a, dims = [99999999999999999999] : (tensor<4xf32>) -> "
       "tensor<4xf32>",
       "2:38: the number needs more than 64 bits"},
      {"%0 = stablehlo.abs %a {x = 1, x = 2} : tensor<4xf32>",
       "2:6: the attribute x is given twice"},
      {"%0 = stablehlo.reduce_precision %a, format = f8 : tensor<4xf32>",
       "2:46: expected a float format such as e8m7"},
      {"%0 = stablehlo.complex %a, %a : tensor<4xf32>",
       "2:33: expected a type with complex elements"},
      {"\"stablehlo.case\"(%i) ({\n^bb0:\nstablehlo.return\n^bb1:\nstablehlo.return\n}) : "
       "(tensor<i32>) -> ()",
       "5:1: a region has one block, without branches between blocks"},
      {"\"cf.br\"()[^bb1] : () -> ()",
       "2:1: unknown operation \"cf.br\": func, stablehlo, chlo and sdy are read"},
      {"%0 = stablehlo.reduce(%a init: %s) applies tosa.add across dimensions = [0] : "
       "(tensor<4xf32>, tensor<f32>) -> tensor<f32>",
       "2:44: expected an operation of stablehlo"},
  };
  for (const BadText& c : cases) EXPECT_EQ(RefusalIn(c.text), c.refusal) << c.text;
}

TEST(StablehloErrors, OfTypesAndAttributes) {
  const auto attribute = [](const std::string& text) {
    return RefusalIn("%0 = stablehlo.abs %a {x = " + text + "} : tensor<4xf32>");
  };
  const auto type = attribute;
  const std::string elided =
      "2:28: this constant was left out when the module was printed; print it with as_text(), or "
      "with get_asm() without large_elements_limit";
  EXPECT_EQ(attribute("dense<__elided__> : tensor<9xf32>"), elided);
  EXPECT_EQ(attribute("dense_resource<__elided__> : tensor<9xf32>"), elided);
  EXPECT_EQ(attribute("dense_resource<blob> : tensor<9xf32>"),
            "2:28: constants that are kept apart from the text (dense_resource) are not read");
  EXPECT_EQ(attribute("sparse<0, 1> : tensor<9xf32>"), "2:28: sparse constants are not read");
  EXPECT_EQ(attribute("dense<> : tensor<9xf32>"),
            "2:28: this constant has no elements, but its type has");
  EXPECT_EQ(attribute("dense<1> : f32"), "2:39: a constant has a tensor type without open sizes");
  EXPECT_EQ(attribute("#tosa.x<1>"), "2:28: unknown dialect \"tosa\"");
  EXPECT_EQ(attribute("#alias"), "2:28: #alias is not defined");
  EXPECT_EQ(attribute("\"abc"), "2:28: this string has no closing quote");
  EXPECT_EQ(attribute("\"a\\q\""), "2:31: expected two hex digits after '\\' in a string");
  EXPECT_EQ(attribute("#sdy.sharding<@mesh, [{>"), "2:51: expected '}'");
  EXPECT_EQ(attribute("array<q8: 1>"), "2:34: unknown element type \"q8\"");
  EXPECT_EQ(type("tensor<4xf99>"), "2:37: unknown element type \"f99\"");
  EXPECT_EQ(type("tensor<*xf32>"), "2:35: tensors without a rank are not read");
  EXPECT_EQ(type("tensor<4f32>"), "2:36: expected 'x' after a size");
  EXPECT_EQ(type("tensor<999999999999999999999xf32>"), "2:35: this size is above 2^48");
  EXPECT_EQ(type("tensor<99999999x99999999x0xf32>"), "2:35: the shape has more than 2^48 elements");
  EXPECT_EQ(type("!tosa.t"), "2:28: unknown dialect \"tosa\"");
  EXPECT_EQ(type("memref<4xf32>"), "2:28: unknown type \"memref\"");
  const std::string deep(5000, '[');
  EXPECT_EQ(attribute(deep), "2:227: this is nested more than 200 levels deep");
  EXPECT_EQ(attribute("#sdy.sharding<" + deep), "2:241: this is nested more than 200 levels deep");
  std::string deep_type;
  for (int i = 0; i < 5000; ++i) deep_type += "(";
  EXPECT_EQ(type(deep_type), "2:36: this is nested more than 8 levels deep");
}

TEST(StablehloErrors, OfModules) {
  const BadText cases[] = {
      {"", "1:1: expected a module but the text ends here"},
      {"module {", "1:9: expected '}' but the text ends here"},
      {"module {} x", "1:11: expected the end of the text after the module"},
      {"module { tosa.f }", "1:10: expected func.func or sdy.mesh, not tosa.f"},
      {"module { func.func @f() { return } func.func @f() { return } }",
       "1:46: @f is defined twice"},
      {"module { func.func @f(tensor<f32>) { return } }", "1:23: this argument has no name"},
      {"module { sdy.mesh @m = <[\"x\"=2]> sdy.mesh @m = <[\"x\"=2]> }",
       "1:43: @m is defined twice"},
      {"module { \"func.func\"() <{sym_name = \"f\"}> ({}) : () -> () }",
       "1:10: the function has no function_type"},
      {"module { \"func.func\"() <{function_type = (i32) -> (), sym_name = \"f\"}> ({\n"
       "^bb0(%a: i64): \"func.return\"() : () -> () }) : () -> () }",
       "1:10: argument 0 of @f is i64, but i32 in its type"},
      {"module {} loc(#loc1)", "1:15: #loc1 is not defined"},
      {"#loc1 = loc(callsite(#loc1 at unknown))\nmodule {}",
       "1:9: the location #loc1 contains itself"},
      {"#loc1 = loc(unknown)\n#loc1 = loc(unknown)\nmodule {}", "2:9: #loc1 is defined twice"},
      {"#a = [#b]\nmodule {}", "1:7: #b is not defined"},
      {"#b = [1]\n#a = [#b]\nmodule {}", "2:7: an alias inside of an alias is not read"},
      {"!t = i32\nmodule {}", "1:1: aliases of types are not read"},
      {"module {}\n{-#\n dialect_resources: {} #-}",
       "2:1: constants that are kept apart from the text (dense_resource) are not read"},
  };
  for (const BadText& c : cases) EXPECT_EQ(RefusalOf(c.text), c.refusal) << c.text;
}

TEST(StablehloErrors, DeepRegionsAreRefused) {
  std::string text = "func.func @f(%i: tensor<i32>) {";
  for (int i = 0; i < 5000; ++i) text += "\"stablehlo.case\"(%i) ({";
  EXPECT_EQ(RefusalOf(text), "1:4632: this is nested more than 200 levels deep");
}

TEST(StablehloErrors, AFileThatCannotBeRead) {
  try {
    ReadModuleFile("none.mlir");
    FAIL();
  } catch (const RuntimeError& e) {
    EXPECT_EQ(e.reason(), "none.mlir cannot be read: no such file or directory");
  }
}

// Damaged texts are read or refused.
TEST(StablehloErrors, DamagedTextsNeverCrash) {
  const char* const tokens[] = {"<",      ">",   "{",  "}",    "(",     ")",
                                "[",      "]",   "\"", "%0",   "#loc1", "tensor<4xf32>",
                                "dense<", " : ", ", ", "loc(", "-1",    "0x"};
  std::mt19937 engine(1);
  int refused = 0;
  const int64_t count = FuzzCount(100);
  for (const auto& file : TextFiles()) {
    const std::string text = TextOf(file);
    for (int64_t i = 0; i < count; ++i) {
      std::string damaged = Mutated(text, tokens, engine);
      if (i % 4 == 0)
        damaged.resize(damaged.size() * static_cast<size_t>(i) / static_cast<size_t>(count));
      try {
        const Module module = Read(damaged);
        GenericText(module, PrintLocations::kYes);
      } catch (const RuntimeError& e) {
        ++refused;
        EXPECT_NE(e.where().find("test.mlir:"), std::string::npos);
      }
    }
  }
  EXPECT_GT(refused, count);
}

}  // namespace
}  // namespace tessera::stablehlo

// Locations: every form, aliases, and the lines of the user's program.
#include "stablehlo/text/locations.h"

#include <gmock/gmock.h>

#include <regex>
#include <string>

#include "stablehlo/text/print.h"
#include "stablehlo/text/tree.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

using ::testing::HasSubstr;

// Returns the module whose only operation has that location.
std::string TextWith(const std::string& location, const std::string& aliases = "") {
  return "func.func @f(%a: tensor<f32>) {\n%0 = stablehlo.abs %a : tensor<f32> loc(" + location +
         ")\nreturn\n}\n" + aliases;
}

// Returns "file:line name stack".
std::string Shown(const std::string& location, const std::string& aliases = "") {
  const std::string text = TextWith(location, aliases);
  const Module module = Read(text);
  const LocationNumber number = module.functions[0].body.operations[0].location;
  const FileRange line = module.locations.LineOf(number).range;
  return std::string(line.file) + ":" + std::to_string(line.line) + " " +
         std::string(module.locations.NameStack(number));
}

TEST(StablehloLocations, EachForm) {
  EXPECT_EQ(Shown("unknown"), ":0 ");
  EXPECT_EQ(Shown("\"m.py\":3:4"), "m.py:3 ");
  EXPECT_EQ(Shown("\"m.py\":3:4 to :9"), "m.py:3 ");
  EXPECT_EQ(Shown("\"m.py\":3:4 to 5:9"), "m.py:3 ");
  EXPECT_EQ(Shown("\"jit(f)/dot\""), ":0 jit(f)/dot");
  EXPECT_EQ(Shown("\"jit(f)/dot\"(\"m.py\":3:4)"), "m.py:3 jit(f)/dot");
  EXPECT_EQ(Shown("callsite(\"m.py\":3:4 at \"main.py\":7:1)"), "m.py:3 ");
  EXPECT_EQ(Shown("fused[\"a.py\":1:1, \"b.py\":2:2]"), "a.py:1 ");
  EXPECT_EQ(Shown("fused<\"why\">[\"jit(f)/add\"(\"a.py\":1:1)]"), "a.py:1 jit(f)/add");
}

TEST(StablehloLocations, AliasesMayBeDefinedAfterTheirUse) {
  EXPECT_EQ(Shown("#loc3",
                  "#loc1 = loc(\"m.py\":3:4)\n#loc3 = loc(\"jit(f)/x\"(#loc2))\n"
                  "#loc2 = loc(#loc1)\n"),
            "m.py:3 jit(f)/x");
}

TEST(StablehloLocations, LinesOfInstalledPackagesAreNotTheUsers) {
  EXPECT_EQ(Shown("callsite(\"/x/site-packages/flax/linen.py\":3:4 at \"train.py\":7:1)"),
            "train.py:7 ");
  EXPECT_EQ(Shown("\"/x/site-packages/flax/linen.py\":3:4"), "/x/site-packages/flax/linen.py:3 ");
}

// A location that doubles with each line stands for much, and stays small.
TEST(StablehloLocations, SharedPartsAreNotCopied) {
  std::string aliases = "#loc0 = loc(\"m.py\":1:1)\n";
  for (int i = 1; i < 200; ++i)
    aliases += "#loc" + std::to_string(i) + " = loc(fused[#loc" + std::to_string(i - 1) + ", #loc" +
               std::to_string(i - 1) + "])\n";
  EXPECT_EQ(Shown("#loc199", aliases), "m.py:1 ");
}

TEST(StablehloLocations, ArePrintedBeforeTheirUses) {
  const std::string text =
      TextWith("#loc1",
               "#loc1 = loc(\"n\"(#loc2))\n#loc2 = loc(callsite(\"a.py\":1:2 at \"b.py\":3:4 to "
               ":5))\n");
  const std::string printed = GenericText(Read(text), PrintLocations::kYes);
  EXPECT_THAT(printed, HasSubstr("#loc3 = loc(\"b.py\":3:4 to 3:5)\n#loc2 = loc(\"a.py\":1:2)\n"
                                 "#loc1 = loc(callsite(#loc2 at #loc3))\n"
                                 "#loc0 = loc(\"n\"(#loc1))\n"));
  EXPECT_THAT(printed, HasSubstr("-> (tensor<f32>) loc(#loc0)"));
}

TEST(StablehloLocations, OfArgumentsAndFunctions) {
  const std::string text =
      "module { func.func @f(%a: tensor<f32> loc(\"x\")) { return loc(\"r\") } loc(\"f\") } "
      "loc(\"m\")";
  const Module module = Read(text);
  const auto name = [&](LocationNumber number) { return module.locations.NameStack(number); };
  EXPECT_EQ(name(module.functions[0].values[0].location), "x");
  EXPECT_EQ(name(module.functions[0].body.operations[0].location), "r");
  EXPECT_EQ(name(module.functions[0].location), "f");
  EXPECT_EQ(name(module.location), "m");
}

// Programs keep name stacks, also through an export; names of one part are those of values.
TEST(StablehloLocations, NameStacksAreScopesOfPrograms) {
  const std::string text =
      "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
      "%0 = stablehlo.abs %a : tensor<f32> loc(\"jit(f)/mlp/abs\"(\"m.py\":3:4))\n"
      "%1 = stablehlo.negate %0 : tensor<f32> "
      "loc(\"jit(f)/transpose(jvp(mlp))/neg\"(\"m.py\":4:4))\n"
      "%2 = stablehlo.sine %1 : tensor<f32> loc(\"sin\"(\"m.py\":5:4))\n"
      "return %2 : tensor<f32>\n}\n";
  for (const std::string& program :
       {import_stablehlo(text).text(),
        import_stablehlo(export_stablehlo(import_stablehlo(text))).text()}) {
    EXPECT_THAT(program, HasSubstr("// m.py:3 [jit(f)/mlp/abs]"));
    EXPECT_THAT(program, HasSubstr("// backward m.py:4 [jit(f)/transpose(jvp(mlp))/neg]"));
    EXPECT_THAT(program, testing::Not(HasSubstr("[sin]")));
  }
}

// Operations without a line of the user have the line of the call, and are in its name stack.
TEST(StablehloLocations, OperationsOfJaxHaveTheLineOfTheCall) {
  const std::string text = R"mlir(module {
func.func @main(%a: tensor<f32>) -> tensor<f32> {
%0 = call @relu(%a) : (tensor<f32>) -> tensor<f32> loc("jit(f)/jit(relu)"("m.py":3:4))
%1 = call @layer(%0) : (tensor<f32>) -> tensor<f32> loc("jit(f)/transpose(jvp(jit(layer)))"("m.py":4:4))
return %1 : tensor<f32>
}
func.func private @relu(%a: tensor<f32>) -> tensor<f32> {
%0 = stablehlo.sine %a : tensor<f32> loc("sin")
%1 = stablehlo.tanh %0 : tensor<f32> loc("tanh"("/x/site-packages/jax/nn.py":9:1))
return %1 : tensor<f32>
}
func.func private @layer(%a: tensor<f32>) -> tensor<f32> {
%0 = stablehlo.negate %a : tensor<f32> loc("neg"("m.py":12:4))
%1 = call @relu(%0) : (tensor<f32>) -> tensor<f32> loc("jit(relu)"("m.py":13:4))
return %1 : tensor<f32>
}
})mlir";
  const std::string program =
      std::regex_replace(import_stablehlo(text).text(), std::regex(" +"), " ");
  for (const char* line : {
           "sin %0 // m.py:3 [jit(f)/jit(relu)/sin]",
           "tanh %1 // m.py:3 [jit(f)/jit(relu)/tanh]",
           "neg %2 // backward m.py:12 [jit(f)/transpose(jvp(jit(layer)))/neg]",
           "sin %3 // backward m.py:13 [jit(f)/transpose(jvp(jit(layer)))/jit(relu)/sin]",
       })
    EXPECT_THAT(program, HasSubstr(line));
}

// Values that the importer adds have the line of the operation that they are for.
TEST(StablehloLocations, NoValueHasALineOfOurs) {
  const std::string text = R"(
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<f32>) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %4 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %5 = stablehlo.atan2 %p, %q : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %6 = stablehlo.add %4, %3 : tensor<2xf32>
    sdy.return %6 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %7 = stablehlo.iota dim = 0 : tensor<4xi32>
  %8 = "stablehlo.sort"(%7) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %9 = stablehlo.and %p, %n : tensor<i32>
    %10 = stablehlo.and %q, %n : tensor<i32>
    %11 = stablehlo.compare GT, %9, %10, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %11 : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  %12 = stablehlo.constant dense<3.0> : tensor<f32>
  %13 = chlo.polygamma %12, %12 : tensor<f32>, tensor<f32> -> tensor<f32>
  return %0, %8, %13 : tensor<4xf32>, tensor<4xi32>, tensor<f32>
}
)";
  const std::string program = import_stablehlo(text).text();  // no locations: the line of this call
  EXPECT_THAT(program, HasSubstr("full_to_shard"));
  const std::regex place("// ([a-z_]*[.]cc):");
  for (std::sregex_iterator at(program.begin(), program.end(), place), end; at != end; ++at)
    EXPECT_EQ((*at)[1], "locations_test.cc") << program;
}

}  // namespace
}  // namespace tessera::stablehlo

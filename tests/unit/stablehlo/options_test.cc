// Options of imports: as texts, and their effects.
#include <gmock/gmock.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include "ir/program.h"
#include "sharding/text.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kProduct = R"(module @jit_f {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("batch"),
                         %arg1: tensor<4x8xf32> loc("params['w']")) -> tensor<8x8xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> loc("model.py":7:3)
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]> : tensor<8x8xf32> loc("model.py":8:3)
    return %1 : tensor<8x8xf32>
  }
})";

Program Imported(const ImportTexts& texts, const std::string& text = kProduct) {
  return import_stablehlo(text, read_import_options(texts), Loc::Current("test.mlir", 0));
}

// Returns the message of the refusal.
template <class F>
std::string RefusalOf(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was refused";
}

std::string PlaceText(const Program& program, size_t argument) {
  const ir::Program& p = *program.program();
  const ir::ValueId v = p.inputs[argument];
  return sharding::Text((p.place(v) ? p.place(v) : p.type(v))->sharding());
}

TEST(ImportOptions, AreTexts) {
  const ImportOptions o = read_import_options(
      {.mesh = "data=4, model=64",
       .settings = {R"(params['w']=[{"data"}, {?}])", R"(f(x=[1])[0] = <@mesh, [{"model"}]>)"},
       .modes = "explicit"});
  EXPECT_EQ(o.mesh->text(), R"(<["data"=4, "model"=64]>)");
  EXPECT_TRUE(o.mesh->is_abstract());
  EXPECT_EQ(o.modes, AxisModes::kExplicit);
  EXPECT_EQ(o.shardings[0].argument, "params['w']");
  EXPECT_EQ(o.shardings[0].sharding, R"([{"data"}, {?}])");
  EXPECT_EQ(read_import_options({}).modes, AxisModes::kAsWritten);
  EXPECT_FALSE(read_import_options({}).mesh);
}

TEST(ImportOptions, RefuseTextsThatAreNone) {
  for (const char* mesh : {"x", "x=", "=4", "x=0", "x=-1", "x=4,", "x=4,,y=2", "x=4y", ","})
    EXPECT_THAT(RefusalOf([&] { read_import_options({.mesh = mesh}); }),
                HasSubstr("a mesh is names and sizes, such as x=4,y=2"))
        << mesh;
  for (const char* setting : {"x", "x=", "=[{}]", "x=P", ""})
    EXPECT_THAT(RefusalOf([&] { read_import_options({.settings = {setting}}); }),
                HasSubstr("a setting is ARGUMENT=SHARDING"))
        << setting;
  EXPECT_THAT(RefusalOf([] { read_import_options({.modes = "manual"}); }),
              HasSubstr("modes are auto or explicit, not 'manual'"));
}

TEST(ImportOptions, NameArgumentsAsTheTextDoes) {
  for (const char* name : {"%arg1", "arg1", "1", "params['w']", "params*", "*w*"})
    EXPECT_EQ(PlaceText(Imported({.settings = {std::string(name) + R"(=[{}, {"y"}])"}}), 1),
              R"(<@mesh, [{}, {"y"}]>)")
        << name;
  const Program both = Imported({.settings = {R"(*=[{"y"}, {}])", R"(batch=[{?}, {}])"}});
  EXPECT_EQ(PlaceText(both, 0), R"(<@mesh, [{?}, {}]>)");
  EXPECT_EQ(PlaceText(both, 1), R"(<@mesh, [{"y"}, {}]>)");
}

TEST(ImportOptions, SpecsAreThoseOfJax) {
  const std::pair<const char*, const char*> specs[] = {
      {"P()", "[{}, {}]"},
      {R"(P("x"))", R"([{"x"}, {}])"},
      {R"(P("x",))", R"([{"x"}, {}])"},
      {"P(None, 'y')", R"([{}, {"y"}])"},
      {R"(P(("x", "y"), None))", R"([{"x", "y"}, {}])"},
      {R"(P({"y"}, ("x",)))", R"([{"y"}, {"x"}])"},
  };
  for (const auto& [spec, sharding] : specs)
    EXPECT_EQ(PlaceText(Imported({.settings = {std::string("arg0=") + spec}}), 0),
              std::string("<@mesh, ") + sharding + ">")
        << spec;
  for (const char* spec : {"P(x)", "P(", "P(\"x\"", "P(\"x\",)x", "P((\"x\" \"y\"))", "P(1)"})
    EXPECT_THAT(RefusalOf([&] { Imported({.settings = {std::string("arg0=") + spec}}); }),
                HasSubstr(std::string("the sharding ") + spec + " of %arg0 (batch): "))
        << spec;
  const std::string scalar = FunctionText("%arg0: tensor<f32>", "");
  EXPECT_EQ(PlaceText(Imported({.mesh = "x=2", .settings = {"arg0=P()"}}, scalar), 0),
            "<@mesh, []>");
  EXPECT_THAT(RefusalOf([] { Imported({.settings = {"arg0=P(None, None, None)"}}); }),
              HasSubstr("it has 3 dims, but the argument has 2"));
}

TEST(ImportOptions, RefuseSettingsOfNoArgument) {
  EXPECT_THAT(RefusalOf([] { Imported({.settings = {R"(arg2=[{}])"}}); }),
              HasSubstr("the program has no argument 'arg2'; did you mean"));
  EXPECT_THAT(RefusalOf([] { Imported({.settings = {R"(params['v']=[{}])"}}); }),
              HasSubstr("did you mean params['w']"));
  EXPECT_THAT(RefusalOf([] { Imported({.settings = {R"(batch=[{}])"}}); }),
              HasSubstr("it has 1 dim, but the argument has 2"));
  EXPECT_THAT(RefusalOf([] { Imported({.settings = {R"(batch=[{"z"}, {}])"}}); }),
              HasSubstr("unknown axis name: \"z\""));
  EXPECT_THAT(RefusalOf([] { Imported({.settings = {R"(batch=[{}, {"x", "y"}])"}}); }),
              HasSubstr("dim 1 of size 4 cannot be divided evenly into 8 shards"));
  const std::string none = FunctionText("%arg0: tensor<4xf32>", "");
  EXPECT_THAT(RefusalOf([&] { Imported({.settings = {"arg0=[{}]"}}, none); }),
              HasSubstr("shardings of arguments need a mesh"));
}

TEST(ImportOptions, ExplicitAxesAreInTypes) {
  const Program p = Imported({.modes = "explicit"});
  EXPECT_EQ(p.inputs()[0].text(), "f32[8@x,4]");
  EXPECT_EQ(p.outputs()[0].text(), "f32[8@x,8]");
  EXPECT_EQ(Imported({.settings = {R"(1=[{}, {"y"}])"}, .modes = "explicit"}).outputs()[0].text(),
            "f32[8@x,8@y]");
  SetDeviceCount(8);
  const Array a = reshape(arange(32.0f), {8, 4}), b = reshape(arange(32.0f), {4, 8});
  EXPECT_EQ(to_function(p)({a, b})[0].to_vector<float>(), matmul(a, b).to_vector<float>());
}

TEST(ImportOptions, AmbiguousTypesAreErrorsAtTheLineOfPython) {
  const std::string message =
      RefusalOf([] { Imported({.settings = {R"(1=[{}, {"x"}])"}, .modes = "explicit"}); });
  EXPECT_THAT(message, HasSubstr("model.py:7"));
  EXPECT_THAT(message, HasSubstr("f32[8@x,4]"));
}

// JAX writes the out_sharding of a call as a constraint on its result.
TEST(ImportOptions, ConstraintsDecideAmbiguousTypes) {
  SetDeviceCount(8);
  const Array a = reshape(arange(64.0f), {8, 8});
  const auto imported = [](const std::string& operation, const std::string& sharding) {
    return Imported({.modes = "explicit"},
                    R"(module @jit_f {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                         %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<8x8xf32> {
    %0 = )" + operation +
                        R"(
    %1 = sdy.sharding_constraint %0 )" +
                        sharding + R"( : tensor<8x8xf32>
    %2 = stablehlo.add %1, %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
})");
  };
  const std::string product =
      "stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x8xf32>, "
      "tensor<8x8xf32>) -> tensor<8x8xf32>";
  for (const auto& [sharding, type] :
       {std::pair(R"(<@mesh, [{"x"}, {}]>)", "f32[8@x,8]"),
        std::pair(R"(<@mesh, [{"x"}, {}], unreduced={"y"}>)", "f32[8@x,8]{U:y}")}) {
    const Program p = imported(product, sharding);
    EXPECT_EQ(p.outputs()[0].text(), type);
    EXPECT_EQ(to_function(p)({a, a})[0].to_vector<float>(),
              (matmul(a, a) * 2.0f).to_vector<float>());
  }
  // Refused over Explicit axes, and without an out_sharding.
  const Program sum =
      imported("stablehlo.add %arg0, %arg1 : tensor<8x8xf32>", R"(<@mesh, [{"x"}, {}]>)");
  EXPECT_EQ(sum.outputs()[0].text(), "f32[8@x,8]");
  EXPECT_EQ(to_function(sum)({a, a})[0].to_vector<float>(), (a * 4.0f).to_vector<float>());
}

TEST(ImportOptions, ManualComputationsTakeTheirShards) {
  SetDeviceCount(8);
  const Program p = Imported({.modes = "explicit"}, R"(module @jit_f {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<4x4xf32>) {
      %1 = stablehlo.negate %arg1 : tensor<4x4xf32>
      sdy.return %1 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
})");
  EXPECT_EQ(p.outputs()[0].text(), "f32[8@x,4]");
  const Array a = reshape(arange(32.0f), {8, 4});
  EXPECT_EQ(to_function(p)({a})[0].to_vector<float>(), (-a).to_vector<float>());
}

TEST(ImportOptions, GivenMeshesKeepTheirModes) {
  const Mesh mixed = abstract_mesh({{"x", 2, Explicit}, {"y", 4, Auto}});
  const Program p = import_stablehlo(
      kProduct, {.mesh = mixed, .shardings = {{"1", R"([{"x"}, {"y"}])"}, {"0", R"([{}, {}])"}}});
  EXPECT_EQ(p.inputs()[1].text(), "f32[4@x,8]");
  EXPECT_EQ(PlaceText(p, 1), R"(<@mesh, [{"x"}, {"y"}]>)");
  EXPECT_EQ(Imported({.modes = "auto"}).outputs()[0].text(), "f32[8,8]");
}

TEST(ImportOptions, ApplyToProgramsOfOtherOrigins) {
  const Program p = Program::Parse(R"(mesh @mesh = <["x"=2, "y"=4]> explicit={"x", "y"}
func @main(%0: f32[8@x,16], %1: f32[16,32@y]) -> f32[8@x,32@y] {
  %2: f32[8@x,32@y] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}
  return %2
})");
  const Program wider = reimport(p, read_import_options({.mesh = "x=4,y=8"}));
  EXPECT_EQ(wider.program()->mesh->text(), R"(<["x"=4, "y"=8]>)");
  EXPECT_EQ(PlaceText(wider, 0), R"(<@mesh, [{"x"}, {}]>)");
  EXPECT_EQ(reimport(p, read_import_options({.modes = "explicit"})).outputs()[0].text(),
            "f32[8@x,32@y]");
}

}  // namespace
}  // namespace tessera::stablehlo

// Programs as text: shardings, locations, constants and manual computations; refusals.
#include <gmock/gmock.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <span>

#include "stablehlo/write/numbers.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

using ::testing::HasSubstr;

// Returns how many operations of that name @main has, outside of regions.
int64_t CountIn(const std::string& text, std::string_view name) {
  const Module module = Read(text);
  const auto operations = module.FindFunction("main")->body.operations;
  return std::count_if(operations.begin(), operations.end(),
                       [&](const Operation& op) { return op.name == name; });
}

template <class T>
std::string TextOfNumber(T value, DType dtype) {
  return NumberText(dtype, std::as_bytes(std::span(&value, 1)));
}

TEST(StablehloExport, NumbersAreShortAndExact) {
  EXPECT_EQ(TextOfNumber(1.0f, f32), "1.0");
  EXPECT_EQ(TextOfNumber(0.1f, f32), "0.1");
  EXPECT_EQ(TextOfNumber(1e-45f, f32), "1.0e-45");
  EXPECT_EQ(TextOfNumber(0.1, f64), "0.1");
  EXPECT_EQ(TextOfNumber(-std::numeric_limits<float>::infinity(), f32), "0xFF800000");
  EXPECT_EQ(TextOfNumber(uint16_t{0x7FC0}, bf16), "0x7FC0");
  EXPECT_EQ(TextOfNumber(std::complex<float>(1, -2), c64), "(1.0,-2.0)");
  EXPECT_EQ(TextOfNumber(std::numeric_limits<uint64_t>::max(), u64), "18446744073709551615");
  EXPECT_EQ(TextOfNumber(int8_t{-3}, i8), "-3");
  EXPECT_EQ(TextOfNumber(true, bool_), "true");
}

TEST(StablehloExport, ConstantsAreListsOrBytes) {
  const float few[] = {1, 2.5, 3, 4};
  EXPECT_EQ(DenseText({{2, 2}, f32}, std::as_bytes(std::span(few))),
            "dense<[[1.0, 2.5], [3.0, 4.0]]> : tensor<2x2xf32>");
  const std::vector<uint8_t> same(200, 7);
  EXPECT_EQ(DenseText({{200}, u8}, std::as_bytes(std::span(same))), "dense<7> : tensor<200xui8>");
  std::vector<uint8_t> many(101, 0);
  many[100] = 0xAB;
  const std::string text = DenseText({{101}, u8}, std::as_bytes(std::span(many)));
  EXPECT_THAT(text, HasSubstr("dense<\"0x0000"));
  EXPECT_THAT(text, HasSubstr("00AB\"> : tensor<101xui8>"));
  EXPECT_EQ(DenseText({{0, 3}, f32}, {}), "dense<> : tensor<0x3xf32>");
}

TEST(StablehloExport, OverAutoAxesConstraintsAreShardings) {
  const MeshScope scope(abstract_mesh({{"x", 2, Auto}, {"y", 4, Auto}}));
  const auto f = jit([](Array x) { return with_sharding_constraint(sin(x), P("x", None)) * 2; });
  const std::string text = export_stablehlo(f.trace(abstract_array("f32[8,4]")));
  EXPECT_THAT(text, HasSubstr(R"(sdy.mesh @mesh = <["x"=2, "y"=4]>)"));
  EXPECT_THAT(text, HasSubstr(R"(tessera.modes = "x=Auto, y=Auto")"));
  EXPECT_THAT(text, HasSubstr(R"(<@mesh, [{"x"}, {}]> : tensor<8x4xf32>)"));
  EXPECT_EQ(CountIn(text, "sdy.sharding_constraint"), 1);
  const std::string propagated = export_stablehlo(f.trace(abstract_array("f32[8,4]")).propagated());
  EXPECT_GT(CountIn(propagated, "sdy.sharding_constraint"), 1);
}

TEST(StablehloExport, OverExplicitAxesTypesAreShardings) {
  const MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  const auto f = jit([](Array x, Array w) { return matmul(x, w); });
  const std::string text =
      export_stablehlo(f.trace(abstract_array("f32[8@x,16]"), abstract_array("f32[16,32@y]")));
  EXPECT_THAT(text, HasSubstr(R"({sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})"));
  EXPECT_THAT(text, HasSubstr(R"(<@mesh, [{"x"}, {"y"}]> : tensor<8x32xf32>)"));
  EXPECT_EQ(CountIn(text, "stablehlo.dot_general"), 1);
}

TEST(StablehloExport, LinesAndNamesAreLocations) {
  const auto f = jit([](Array x) { return named(sin(x), "wave"); });
  const std::string text = export_stablehlo(f.trace(zeros({4})));
  EXPECT_THAT(text, HasSubstr(R"(loc("wave"(")"));
  EXPECT_THAT(text, HasSubstr("export_test.cc\":"));
}

TEST(StablehloExport, WeakTypesAreNotes) {
  const auto f = jit([](Array x) { return std::pair(sum(x), Array(2)); });
  EXPECT_THAT(export_stablehlo(f.trace(zeros({4}))), HasSubstr("tessera.type = \"weak i32[]"));
}

TEST(StablehloExport, KeysArePairsOfWords) {
  const auto f = jit([](Array key) { return random::bits(key, {3}); });
  const std::string text = export_stablehlo(f.trace(random::key(7)));
  EXPECT_THAT(text, HasSubstr("tensor<2xui32>"));
  EXPECT_THAT(text, HasSubstr("func.func private @threefry2x32_"));
  EXPECT_EQ(CountIn(text, "func.call"), 1);
}

Array Contracted(Array x, Array w) {
  const auto local = [](Array x, Array w) { return psum(matmul(sin(x), w), "y"); };
  return shard_map(local, {.in_specs = {P("x", "y"), P("y", None)}, .out_specs = P("x", None)})(x,
                                                                                                w);
}

TEST(StablehloExport, ShardMapIsAManualComputation) {
  const MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  const std::string text = export_stablehlo(
      jit(Contracted).trace(abstract_array("f32[8@x,16@y]"), abstract_array("f32[16@y,32]")));
  EXPECT_EQ(CountIn(text, "sdy.manual_computation"), 1);
  EXPECT_EQ(CountIn(text, "stablehlo.all_reduce"), 0);
  EXPECT_THAT(text, HasSubstr(R"(manual_axes = #sdy<manual_axes{"x", "y"}>)"));
  EXPECT_THAT(text, HasSubstr("replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]>"));
}

// The backward pass uses arrays that the devices computed in the forward pass.
TEST(StablehloExport, ArraysOfDevicesCrossBetweenManualComputations) {
  const MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  const auto loss = [](Array x, Array w) { return sum(square(Contracted(x, w))); };
  const std::string text = export_stablehlo(
      jit(grad<0, 1>(loss)).trace(abstract_array("f32[8@x,16@y]"), abstract_array("f32[16@y,32]")));
  EXPECT_EQ(CountIn(text, "sdy.manual_computation"), 2);
  EXPECT_THAT(text, HasSubstr("tensor<8x4x4xf32>"));  // a part of 4 x 4 of each of 8 devices
}

TEST(StablehloExport, AnImportHasTheSameNumbers) {
  const auto f = [](Array x, Array w) { return relu(matmul(x, w) + 1) / (reshape(w, {1, 4}) * 2); };
  const Array x = arange(12.0).reshape({3, 4}).astype(f32),
              w = (arange(4.0) + 1).reshape({4, 1}).astype(f32);
  const std::string text = export_stablehlo(jit(f).trace(x, w));
  const std::vector<Array> got = to_function(import_stablehlo(text))({x, w});
  EXPECT_EQ(got.at(0).to_vector<float>(), f(x, w).to_vector<float>());
}

// XLA's own operation reads real parts alone.
TEST(StablehloExport, ComplexNumbersCompareBothParts) {
  const Array parts = (arange(4.0) - 2).astype(f32), z = complex(parts * parts, parts);
  const auto f = jit([](Array a, Array b) { return std::pair(maximum(a, b), minimum(a, b)); });
  const std::string text = export_stablehlo(f.trace(z, z));
  EXPECT_EQ(CountIn(text, "stablehlo.maximum") + CountIn(text, "stablehlo.minimum"), 0);
  EXPECT_EQ(CountIn(text, "stablehlo.compare"), 6);
  EXPECT_EQ(CountIn(text, "stablehlo.select"), 4);
  for (const auto& reduced :
       {export_stablehlo(jit([](Array a) { return max(a); }).trace(z)),
        export_stablehlo(jit([](Array a) { return cummin(a, 0); }).trace(z))}) {
    EXPECT_THAT(reduced, HasSubstr(R"("stablehlo.imag")"));
    EXPECT_THAT(reduced, Not(HasSubstr(R"("stablehlo.m)")));
    EXPECT_THAT(import_stablehlo(reduced).text(), Not(HasSubstr("select_n")));  // it is recognised
  }
}

TEST(StablehloExport, BitsOfSmallIntegersAreTheirOwn) {
  const Array x = arange(16.0).astype(i4), u = arange(16.0).astype(u4);
  const auto f = [](Array x, Array u) {
    return std::vector<Array>{population_count(x),
                              clz(x),
                              clz(u),
                              shift_right_logical(x, u.astype(i4)),
                              shift_right_arithmetic(u, 1),
                              shift_right_arithmetic(x, 1)};
  };
  const std::string text = export_stablehlo(jit(f).trace(x, u));
  EXPECT_THAT(text, HasSubstr("dense<15> : tensor<16xi8>"));  // a mask
  EXPECT_EQ(CountIn(text, "stablehlo.shift_left"), 2);        // the sign of u4 is its bit 3
  EXPECT_EQ(CountIn(text, "stablehlo.count_leading_zeros"), 2);
  const std::vector<Array> got = to_function(import_stablehlo(text))({x, u}), want = f(x, u);
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_EQ(got[k].astype(i32).to_vector<int>(), want[k].astype(i32).to_vector<int>()) << k;
}

TEST(StablehloExport, OneErrorListsAllThatCannotBeSaid) {
  const auto f = jit([](Array x) {
    print_shards(x);
    print_shards(x * 2);
    return x;
  });
  try {
    export_stablehlo(f.trace(zeros({4})));
    FAIL() << "nothing was refused";
  } catch (const RuntimeError& e) {
    EXPECT_THAT(e.reason(), HasSubstr("ordered_callback at export_test.cc:"));
    EXPECT_THAT(e.reason(), HasSubstr(", ordered_callback at export_test.cc:"));
  }
}

TEST(StablehloExport, DeviceProgramsAreRefused) {
  const Program program = jit([](Array x) { return x + 1; }).lower(zeros({4})).device_program();
  EXPECT_THROW(export_stablehlo(program), RuntimeError);
}

// The types of a program's arguments and results.
std::vector<std::string> TypesOf(const Program& program) {
  std::vector<std::string> texts;
  for (const auto& types : {program.inputs(), program.outputs()})
    for (const ArrayType& type : types) texts.push_back(type.text());
  return texts;
}

TEST(StablehloRoundTrip, ExplicitProgramsStayExplicit) {
  const MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  const Program p = jit([](Array x, Array w) {
                      return matmul(x, w, {.out_sharding = P("x", None)}) * 2;
                    }).trace(abstract_array("f32[8@x,16@y]"), abstract_array("f32[16@y,32]"));
  EXPECT_EQ(TypesOf(import_stablehlo(export_stablehlo(p))), TypesOf(p));
  EXPECT_THAT(TypesOf(p), testing::ElementsAre("f32[8@x,16@y]", "f32[16@y,32]", "f32[8@x,32]"));
}

// Returns the program of one device, without the mesh, modes and lines of source.
std::string DeviceText(const Program& program) {
  const std::string text = lower(program).device_program().text();
  std::string out;
  for (size_t begin = text.find('\n') + 1; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    line.erase(std::min(line.find("//"), line.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    begin = end + 1;
  }
  return out;
}

// A step of training by gradient descent: the types over Explicit axes are the constraints of its
// export over Auto axes, and leave nothing else to decide.
TEST(StablehloRoundTrip, OverAutoAxesDevicesRunTheSameProgram) {
  const MeshScope scope(abstract_mesh({{"data", 4}, {"model", 2}}));
  const auto loss = [](std::vector<Array> w, Array x) {
    return mean(square(matmul(tanh(matmul(x, w[0])), w[1], {.out_sharding = P("data", None)})));
  };
  const auto step = [&](std::vector<Array> w, Array x) {
    const std::vector<Array> g = grad(loss)(w, x);
    return std::vector<Array>{w[0] - g[0] * 0.1, w[1] - g[1] * 0.1};
  };
  const Program given = jit(step).trace(
      std::vector<Array>{abstract_array("f32[16,32@model]"), abstract_array("f32[32@model,16]")},
      abstract_array("f32[64@data,16]"));
  const std::string text = export_stablehlo(given);
  const Program over_explicit = import_stablehlo(text);
  const Program over_auto = import_stablehlo(text, {.modes = AxisModes::kAuto});
  EXPECT_EQ(TypesOf(over_explicit), TypesOf(given));
  EXPECT_THAT(DeviceText(over_auto), HasSubstr("all_reduce"));
  EXPECT_EQ(DeviceText(over_auto), DeviceText(over_explicit));
  EXPECT_EQ(lower(over_auto).comm().bytes(), lower(given).comm().bytes());
}

TEST(StablehloRoundTrip, WeakAndUnreducedArgumentsStay) {
  const MeshScope scope(abstract_mesh({{"x", 2}}));
  const Program p =
      jit([](Array x) { return reshard(x, P(None)); }).trace(abstract_array("f32[8]{U:x}"));
  EXPECT_EQ(TypesOf(import_stablehlo(export_stablehlo(p))), TypesOf(p));
}

TEST(StablehloRoundTrip, GroupsAndBarriersStay) {
  const MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  const Program p = jit([](Array x, Array y) {
                      const auto [a, b] = shard_alike(sin(x), cos(y));
                      return a + propagation_barrier(b, propagation::Direction::kForward);
                    }).trace(abstract_array("f32[8]"), abstract_array("f32[8]"));
  const std::string text = export_stablehlo(p);
  EXPECT_THAT(text, HasSubstr("sdy.sharding_group"));
  EXPECT_THAT(text, HasSubstr("allowed_direction=FORWARD"));
  const std::string again = export_stablehlo(import_stablehlo(text));
  EXPECT_THAT(again, HasSubstr("sdy.sharding_group"));
  EXPECT_THAT(again, HasSubstr("allowed_direction=FORWARD"));
}

TEST(StablehloRoundTrip, NotesThatDoNotFitAreErrors) {
  const auto text = [](const std::string& modes, const std::string& type) {
    return "module @m attributes {mhlo.frontend_attributes = {tessera.modes = \"" + modes +
           "\"}} {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func public @main(%arg0: tensor<8xf32> "
           "{mhlo.frontend_attributes = {tessera.type = \"" +
           type + "\"}}) -> tensor<8xf32> {\n    return %arg0 : tensor<8xf32>\n  }\n}\n";
  };
  EXPECT_EQ(RefusalOfImport(text("x=Explicit", "f32[8]{U:x}")), "nothing was refused");
  EXPECT_THAT(RefusalOfImport(text("x=Odd", "f32[8]")),
              HasSubstr("tessera.modes has \"x=Odd\", not an axis of the mesh and its mode"));
  EXPECT_THAT(RefusalOfImport(text("z=Auto", "f32[8]")), HasSubstr("tessera.modes has \"z=Auto\""));
  EXPECT_THAT(RefusalOfImport(text("x=Explicit", "f32[9]")),
              HasSubstr("tessera.type is f32[9], but the argument is f32[8]"));
  EXPECT_THAT(RefusalOfImport(text("x=Explicit", "f32[")), HasSubstr("tessera.type is \"f32[\":"));
}

}  // namespace
}  // namespace tessera::stablehlo

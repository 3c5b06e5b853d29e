// Meshes, shardings, manual computations and collectives of texts, and the names of values.
#include <gmock/gmock.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include "ir/program.h"
#include "sharding/text.h"
#include "stablehlo/read/older_shardings.h"
#include "unit/stablehlo/texts.h"

namespace tessera::stablehlo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string TextOf(const std::string& body, const std::string& meshes = R"(
  sdy.mesh @mesh = <["x"=2, "y"=4]>)") {
  return "module @jit_f attributes {mhlo.num_partitions = 8 : i32} {" + meshes + body + "}";
}

// Returns the sharding of a value by its name, as Shardy writes it.
std::string ShardingOf(const Program& propagated, const std::string& name) {
  const ir::Program& p = *propagated.program();
  for (const auto& [known, v] : p.names)
    if (known == name) return sharding::Text((p.place(v) ? p.place(v) : p.type(v))->sharding());
  return "no value " + name;
}

std::vector<float> ResultOf(const Program& program, const std::vector<Array>& arguments) {
  SetDeviceCount(8);
  return to_function(program)(arguments).at(0).to_vector<float>();
}

Array Range(Shape shape) { return reshape(arange(32.0f), shape); }

TEST(ImportSharding, OfArgumentsAreTheirLayouts) {
  const Program p = import_stablehlo(TextOf(R"(
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                         %arg1: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
      -> tensor<8x8xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  })"));
  EXPECT_EQ(ShardingOf(p.propagated(), "%0"), R"(<@mesh, [{"x"}, {"y"}]>)");
  EXPECT_EQ(lower(p).comm().bytes(), 0);
  const Array a = Range({8, 4}), b = Range({4, 8});
  EXPECT_EQ(ResultOf(p, {a, b}), matmul(a, b).to_vector<float>());
}

TEST(ImportSharding, ConstraintsMayBeOnAnotherMeshOfTheSameDevices) {
  const Program p = import_stablehlo(TextOf(R"(
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.sine %arg0 : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 <@other, [{"a"}, {"b"}]> : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  })",
                                            R"(
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  sdy.mesh @other = <["a"=4, "b"=2]>)"));
  EXPECT_EQ(ShardingOf(p.propagated(), "%1"), R"(<@mesh, [{"x", "y":(1)2}, {"y":(2)2}]>)");
}

TEST(ImportSharding, CallsHaveTheNamesOfTheirFunctions) {
  const Program p = import_stablehlo(TextOf(R"(
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.sine %arg0 : tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"y"}]> : tensor<8xf32>
    return %1 : tensor<8xf32>
  })"));
  EXPECT_EQ(ShardingOf(p.propagated(), "@f/%0"), R"(<@mesh, [{"y"}]>)");
  EXPECT_THAT(explain(p, "@f/%0"), HasSubstr("y"));
}

// A constraint on an argument of a function does not replace other uses of the caller's value.
TEST(ImportSharding, MembersOfAGroupAreShardedAlike) {
  const Program p = import_stablehlo(TextOf(R"(
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
      %arg1: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.sine %arg1 : tensor<8x8xf32>
    sdy.sharding_group %arg0 group_id=4 : tensor<8x8xf32>
    sdy.sharding_group %0 group_id=4 : tensor<8x8xf32>
    %1 = stablehlo.cosine %0 : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  })"));
  EXPECT_EQ(ShardingOf(p.propagated(), "%0"), R"(<@mesh, [{"x"}, {"y"}]>)");
}

TEST(ImportSharding, ConstraintsOfFunctionsConcernTheFunctionAlone) {
  const Program p = import_stablehlo(TextOf(R"(
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = stablehlo.sine %arg0 : tensor<8x8xf32>
    %1 = call @f(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.cosine %0 : tensor<8x8xf32>
    return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @f(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  })"));
  EXPECT_EQ(ShardingOf(p.propagated(), "%2"), R"(<@mesh, [{"x"}, {"y"}]>)");
}

const char* const kManual = R"(
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"y"} (%arg1: tensor<2x4xf32>) {
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = GROUPS, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      sdy.return %1 : tensor<2x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  })";

std::string ManualWith(const std::string& groups) {
  std::string text = kManual;
  return TextOf(text.replace(text.find("GROUPS"), 6, groups));
}

TEST(ImportSharding, GroupsOfDevicesAreThoseOfAxes) {
  const Array x = Range({8, 4});
  const Array rows = sum(reshape(x, {4, 2, 4}), {0});
  const std::vector<float> want = concatenate({rows, rows, rows, rows}, 0).to_vector<float>();
  for (
      const char* groups :
      {"dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>",
       R"(#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>)"})
    EXPECT_EQ(ResultOf(import_stablehlo(ManualWith(groups)), {x}), want) << groups;
  try {
    import_stablehlo(ManualWith("dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>"));
    ADD_FAILURE() << "accepted";
  } catch (const RuntimeError& e) {
    EXPECT_THAT(e.what(), HasSubstr("its groups are not those of manual axes"));
  }
}

TEST(ImportSharding, RefusesWhatDoesNotFit) {
  const std::string begin = R"(
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    )";
  const std::string end = R"(
    return %0 : tensor<8x4xf32>
  })";
  const struct {
    const char *operation, *refusal;
  } cases[] = {
      {R"(%0 = sdy.sharding_constraint %arg0 <@mesh, [{"z"}, {}]> : tensor<8x4xf32>)",
       "the sharding <@mesh, [{\"z\"}, {}]>: unknown axis name: \"z\""},
      {R"(%0 = sdy.sharding_constraint %arg0 <@other, [{}, {}]> : tensor<8x4xf32>)",
       "there is no mesh @other"},
      {R"(%1 = stablehlo.slice %arg0 [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32> sdy.sharding_group %arg0 group_id=0 : tensor<8x4xf32> sdy.sharding_group %1 group_id=0 : tensor<4x4xf32> %0 = stablehlo.sine %arg0 : tensor<8x4xf32>)",
       "the arrays have different shapes, [4, 4] and [8, 4]"},
      {R"(%0 = "stablehlo.partition_id"() : () -> tensor<8x4xf32>)",
       "stablehlo.partition_id: it is not in a manual computation"},
      {R"(%0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{odd}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>)",
       "stablehlo.custom_call @Sharding: its sharding is not supported"},
      {R"(%0 = stablehlo.custom_call @SPMDFullToShardShape() {mhlo.sharding = "{manual}"} : () -> tensor<8x4xf32>)",
       "it needs one operand and one result"},
      {R"(%0 = stablehlo.custom_call @SPMDShardToFullShape(%arg0) {mhlo.sharding = "{manual}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>)",
       "it is not part of a manual computation"},
      {R"(%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[] manual_axes={"x"} (%arg1: tensor<8x4xf32>) { sdy.return %arg1 : tensor<8x4xf32> } : (tensor<8x4xf32>) -> tensor<8x4xf32>)",
       "sdy.manual_computation: it needs a sharding for each operand and each result"},
      {R"(%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"w"} (%arg1: tensor<8x4xf32>) { sdy.return %arg1 : tensor<8x4xf32> } : (tensor<8x4xf32>) -> tensor<8x4xf32>)",
       "sdy.manual_computation: the mesh has no axis \"w\""},
      {R"(%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%arg1: tensor<8x4xf32>) { %1 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 9]]> : tensor<1x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32> sdy.return %1 : tensor<8x4xf32> } : (tensor<8x4xf32>) -> tensor<8x4xf32>)",
       "source_target_pairs must be pairs of device numbers"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(RefusalOfImport(TextOf(begin + c.operation + end)), HasSubstr(c.refusal))
        << c.operation;
}

// Each function calls the next one twice.
TEST(ImportSharding, CallsThatMultiplyAreRefused) {
  std::string functions = R"(
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = call @f0(%arg0) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  })";
  constexpr int kDepth = 40;
  for (int k = 0; k <= kDepth; ++k) {
    const std::string next = "call @f" + std::to_string(k + 1);
    functions += "\n  func.func private @f" + std::to_string(k) +
                 "(%arg0: tensor<f32>) -> tensor<f32> {\n    %0 = " +
                 (k < kDepth ? next + "(%arg0) : (tensor<f32>) -> tensor<f32>\n    %1 = " + next +
                                   "(%0) : (tensor<f32>) -> tensor<f32>\n"
                             : "stablehlo.sine %arg0 : tensor<f32>\n    %1 = stablehlo.sine %0 : "
                               "tensor<f32>\n") +
                 "    return %1 : tensor<f32>\n  }";
  }
  EXPECT_THAT(RefusalOfImport(TextOf(functions)),
              HasSubstr("its calls make more than 1000000 operations"));
}

std::vector<std::pair<int64_t, int64_t>> Digits(const std::vector<DeviceDigits>& digits) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const DeviceDigits& d : digits) pairs.emplace_back(d.size, d.stride);
  return pairs;
}

TEST(OlderShardings, AreDigitsOfDevices) {
  const auto tiled = ParseOlderSharding("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", 8);
  ASSERT_TRUE(tiled);
  EXPECT_THAT(Digits(tiled->dims[0]), ElementsAre(std::pair(2, 4)));
  EXPECT_THAT(Digits(tiled->dims[1]), ElementsAre());
  const auto turned = ParseOlderSharding("{devices=[4,2]<=[2,4]T(1,0)}", 8);
  ASSERT_TRUE(turned);
  EXPECT_THAT(Digits(turned->dims[0]), ElementsAre(std::pair(4, 1)));
  EXPECT_THAT(Digits(turned->dims[1]), ElementsAre(std::pair(2, 4)));
  const auto across = ParseOlderSharding("{devices=[8,1]<=[2,4]T(1,0)}", 8);
  ASSERT_TRUE(across);
  EXPECT_THAT(Digits(across->dims[0]), ElementsAre(std::pair(4, 1), std::pair(2, 4)));
  const auto partly =
      ParseOlderSharding("{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}", 8);
  ASSERT_TRUE(partly);
  EXPECT_THAT(Digits(partly->manual), ElementsAre(std::pair(2, 2)));
  EXPECT_TRUE(ParseOlderSharding("{manual}", 8)->is_manual);
  EXPECT_TRUE(ParseOlderSharding("{replicated}", 8)->dims.empty());
  for (const char* wrong :
       {"", "{devices=[2,4]<=[16]}", "{devices=[3,4]<=[8]}", "{devices=[2,4]0,1}",
        "{devices=[2,4]<=[2,4]T(0)}", "{devices=[2,4]<=[8]"})
    EXPECT_FALSE(ParseOlderSharding(wrong, 8)) << wrong;
}

TEST(OlderShardings, MakeAMeshAndManualComputations) {
  const Program p = import_stablehlo(TextOf(R"(
  func.func public @main(%arg0: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) -> tensor<8x4xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {backend_config = "", mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<8x4xf32>) -> tensor<4x1xf32>
    %2 = stablehlo.add %1, %1 : tensor<4x1xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<4x1xf32>) -> tensor<4x1xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {backend_config = "", mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<4x1xf32>) -> tensor<8x4xf32>
    return %4 : tensor<8x4xf32>
  })",
                                            ""));
  EXPECT_EQ(p.program()->mesh->text(), R"(<["_axis_0"=2, "_axis_1"=4]>)");
  const Array x = Range({8, 4});
  EXPECT_EQ(ResultOf(p, {x}), (x + x).to_vector<float>());
}

}  // namespace
}  // namespace tessera::stablehlo

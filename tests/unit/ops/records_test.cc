// Properties of the records of all ops. The op suite checks that each op has samples.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>

#include "ir/infer.h"
#include "kernels/fused/fused.h"
#include "ops/check.h"
#include "ops/manual.h"
#include "ops/ops.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::ops {
namespace {

using kernels::test::Group;
using kernels::test::kAllDTypes;

// "kReduceSum" -> "reduce_sum"
std::string ProgramName(const std::string& constant) {
  std::string name;
  for (char c : constant.substr(1)) {
    if (std::isupper(c) && !name.empty()) name += '_';
    name += static_cast<char>(std::tolower(c));
  }
  return name;
}

TEST(Records, EveryOpThatParamsDeclaresIsInTheArrayOfItsFile) {
  Install();
  std::ifstream file(TESSERA_SOURCE_DIR "/src/ops/params.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::regex declaration("extern const OpDef ([^;]*);"), word("\\bk[A-Z]\\w*");
  int declared = 0;
  for (std::sregex_iterator d(header.begin(), header.end(), declaration), end; d != end; ++d) {
    const std::string names = (*d)[1];
    for (std::sregex_iterator n(names.begin(), names.end(), word); n != end; ++n, ++declared)
      EXPECT_TRUE(ir::FindOp(ProgramName(n->str())))
          << n->str() << " is not in the array of its file in src/ops, or not named like its op";
  }
  EXPECT_GT(declared, 40);
}

TEST(Records, NamesDiffer) {
  Install();
  for (const OpDef* op : ir::AllOps()) EXPECT_EQ(ir::FindOp(op->name), op) << op->name;
}

TEST(Records, EveryStepOfAReshardIsOneOp) {
  Install();
  using sharding::StepKind;
  for (int n = 0; n <= static_cast<int>(StepKind::kHaloExchange); ++n) {
    const auto step = static_cast<StepKind>(n);
    std::vector<std::string_view> names;
    for (const OpDef* op : ir::AllOps())
      if (const auto* move = std::get_if<ir::AsMove>(&*op->lowering); move && move->step == step)
        names.push_back(op->name);
    EXPECT_EQ(names, std::vector<std::string_view>{Name(step)});
  }
}

// Whether an op of one operand f32[2,3] with result f32[result] rearranges it.
bool Rearranges(const OpDef& op, const ir::ParamsPtr& params, base::Shape result) {
  const ir::Type *operand = ir::Type::Get({2, 3}, f32),
                 *type = ir::Type::Get(std::move(result), f32);
  return ir::IsRearrangement(op, params.get(), {&operand, 1}, {&type, 1});
}

TEST(Records, ThreeOpsRearrange) {
  EXPECT_TRUE(Rearranges(kReshape, nullptr, {6}));
  EXPECT_TRUE(Rearranges(kTranspose, ir::MakeParams(TransposeParams{{{1, 0}}}), {3, 2}));
  EXPECT_TRUE(Rearranges(kBroadcastInDim, ir::MakeParams(BroadcastParams{{{0, 2}}}), {2, 4, 3}));
  EXPECT_FALSE(Rearranges(Elementwise(ScalarOp::kNeg), nullptr, {2, 3}));
  EXPECT_FALSE(Rearranges(kBitcastConvertType, nullptr, {2, 3}));
  EXPECT_FALSE(Rearranges(kOptimizationBarrier, nullptr, {2, 3}));
  EXPECT_FALSE(Rearranges(kRev, ir::MakeParams(DimsParams{{0}}), {2, 3}));
  EXPECT_FALSE(Rearranges(kRoll, ir::MakeParams(RollParams{{0}, 1}), {2, 3}));
  EXPECT_FALSE(Rearranges(kReduceMax, ir::MakeParams(DimsParams{{0}}), {3}));
  EXPECT_FALSE(Rearranges(kSlice, ir::MakeParams(SliceParams{{0, 0}, {1, 3}, {1, 1}}), {1, 3}));
  EXPECT_FALSE(Rearranges(kReshard, nullptr, {2, 3}));
}

TEST(Records, CastsOfManualComputationAreLocal) {
  const sharding::MeshDef* mesh = sharding::ParseMesh("<[\"x\"=2]>", Loc::Unknown());
  mesh = mesh->WithModes({AxisMode::Manual});
  sharding::TensorSharding varying = sharding::Replicated(mesh, 1);
  varying.varying = {sharding::WholeAxis(*mesh, 0)};
  const ir::Type *alike = ir::Type::Get({4}, f32, mesh), *own = alike->WithSharding(varying);
  const auto is_local = [&](const OpDef& op, const ManualParams& params) {
    return std::get<ir::AsManualMove>(*op.lowering)
        .is_local(ir::MakeParams(params).get(), own, alike);
  };
  EXPECT_TRUE(is_local(kPcast, {}));
  EXPECT_TRUE(is_local(kAssumeInvariant, {{"x"}, {}}));
  EXPECT_FALSE(is_local(kPsum, {{"x"}, {}}));
  EXPECT_FALSE(is_local(kGatherShards, {{"x"}, {0}}));
}

// Returns the operands' dtypes where the variable ones are `dtype`: the cases of a
// select, the key of random bits.
std::vector<DType> OperandDTypes(const OpDef& op, ScalarOp scalar, DType dtype) {
  std::vector<DType> operands(static_cast<size_t>(plan::FactsOf(scalar).operands), dtype);
  if (scalar == ScalarOp::kSelect) operands[0] = bool_;
  if (op.operand_names[1] == "counter") operands[1] = u64;
  return operands;
}

// Returns the result's dtype if the op takes `dtype`.
std::optional<DType> ResultDType(const OpDef& op, ScalarOp scalar, DType dtype) {
  std::vector<const ir::Type*> operands;
  for (DType t : OperandDTypes(op, scalar, dtype)) operands.push_back(ir::Type::Get({8}, t, {}));
  const ShapeAndDType wanted{{8}, dtype};
  try {
    return (*op.type)({op, operands, nullptr, &wanted})[0].dtype;
  } catch (const ir::TypeProblem&) {
    return {};
  }
}

TEST(Records, EveryScalarOpHasAKernelForEveryDTypeThatItTakes) {
  for (int n = 0; n < plan::kScalarOps; ++n) {
    const auto scalar = static_cast<ScalarOp>(n);
    const OpDef& op = Elementwise(scalar);
    int taken = 0;
    std::vector<DType> dtypes(std::begin(kAllDTypes), std::end(kAllDTypes));
    dtypes.insert(dtypes.end(), {c64, c128, key_dtype});
    for (DType dtype : dtypes) {
      const std::optional<DType> result = ResultDType(op, scalar, dtype);
      if (!result) continue;
      ++taken;
      Group g({8});
      int operands[3] = {-1, -1, -1};
      const std::vector<DType> given = OperandDTypes(op, scalar, dtype);
      for (size_t i = 0; i < given.size(); ++i) operands[i] = g.Input(given[i]);
      g.Output(g.Op(scalar, *result, operands[0], operands[1], operands[2]));
      EXPECT_NO_THROW(kernels::Fused(g.desc)) << op.name << " of " << dtype.name();
    }
    EXPECT_GT(taken, 0) << op.name;
  }
}

}  // namespace
}  // namespace tessera::ops

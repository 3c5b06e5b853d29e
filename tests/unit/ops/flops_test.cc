// The FLOPs of every op, by formulas of its own, and those of a device where batches are sharded.
#include <absl/strings/str_replace.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/infer.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "sharding/partition.h"

namespace tessera::ops {
namespace {

// Operand types have a dim B, of 4, over which the op maps.
struct Row {
  const OpDef& op;
  ir::ParamsPtr params;
  std::vector<std::string> operands;
  double flops;
  std::string wanted = {};  // the result's type, of an op that needs it
};

const sharding::MeshDef* Mesh() { return sharding::ParseMesh("<[\"x\"=4]>", Loc::Unknown()); }

const ir::Type* TypeFrom(const std::string& text, const std::string& batch) {
  return ir::ParseType(absl::StrReplaceAll(text, {{"B", batch}}), Mesh(), Loc::Unknown());
}

sharding::PartitionTensor TensorOf(const ir::Type* t) {
  return {&t->shape(), sharding::ItemSize::OfBits(t->dtype().bits()), &t->sharding()};
}

// Returns the FLOPs of a device, where the batch is `batch`: "4" or "4@x".
double FlopsOf(const Row& row, const std::string& batch) {
  std::vector<const ir::Type*> operands;
  for (const std::string& text : row.operands) operands.push_back(TypeFrom(text, batch));
  ir::ShapeAndDType wanted;
  if (!row.wanted.empty()) {
    const ir::Type* type = TypeFrom(row.wanted, batch);
    wanted = {type->shape(), type->dtype()};
  }
  const auto results = ir::InferTypes({.op = row.op,
                                       .operands = operands,
                                       .params = row.params.get(),
                                       .wanted = row.wanted.empty() ? nullptr : &wanted});
  std::vector<sharding::PartitionTensor> ins, outs;
  for (const ir::Type* t : operands) ins.push_back(TensorOf(t));
  for (const ir::Type* t : results) outs.push_back(TensorOf(t));
  const sharding::DimMap map = ir::DeviceMapOf(row.op, row.params.get(), operands, results);
  const double each = row.op.flops_per_point;
  const sharding::Partition made = sharding::ChoosePartition(map, ins, outs, each);
  if (batch == "4") {
    EXPECT_DOUBLE_EQ(each * made.flops, each * sharding::PointsOf(map)) << row.op.name;
  }
  return each * made.flops;
}

template <class P>
ir::ParamsPtr Params(P params) {
  return ir::MakeParams(std::move(params));
}

// Matrices [16, 16], [24, 16] and [16, 24]: cubes, and terms of LAPACK's counts.
void AddMatrices(std::vector<Row>& rows) {
  const std::string square = "f32[B,16,16]", tall = "f32[B,24,16]", wide = "f32[B,16,24]";
  const double n3 = 16 * 16 * 16, m = 24, n = 16, mn2 = m * n * n;
  const double r_of_tall = 2 * mn2 - 2 * n3 / 3;
  rows.push_back({kCholesky, nullptr, {square}, 4 * n3 / 3});
  rows.push_back({kLu, nullptr, {square}, 4 * 2 * n3 / 3});
  rows.push_back({kLu, nullptr, {tall}, 4 * (mn2 - n3 / 3)});
  rows.push_back({kLu, nullptr, {wide}, 4 * (mn2 - n3 / 3)});
  rows.push_back({kTriangularSolve,
                  Params(TriangularSolveParams{.left_side = true}),
                  {square, "f32[B,16,5]"},
                  4 * 16 * 16 * 5});
  rows.push_back({kQr, Params(QrParams{}), {square}, 4 * 8 * n3 / 3});
  rows.push_back({kQr, Params(QrParams{}), {tall}, 4 * 2 * r_of_tall});
  rows.push_back({kQr,
                  Params(QrParams{.full_matrices = true}),
                  {tall},
                  4 * (r_of_tall + 4 * (m * m * n - m * n * n + n3 / 3))});
  rows.push_back({kPackedQr, Params(PackedQrParams{}), {tall}, 4 * r_of_tall});
  rows.push_back({kHouseholderProduct, nullptr, {tall, "f32[B,16]"}, 4 * r_of_tall});
  rows.push_back({kEigh, Params(VectorsParams{true}), {square}, 4 * 9 * n3});
  rows.push_back({kEigh, Params(VectorsParams{false}), {square}, 4 * 4 * n3 / 3});
  rows.push_back({kEig, Params(VectorsParams{true}), {square}, 4 * 25 * n3});
  rows.push_back({kEig, Params(VectorsParams{false}), {square}, 4 * 10 * n3});
  rows.push_back({kSvd, Params(SvdParams{}), {tall}, 4 * (14 * mn2 + 8 * n3)});
  rows.push_back(
      {kSvd, Params(SvdParams{.compute_uv = false}), {wide}, 4 * (4 * mn2 - 4 * n3 / 3)});
  rows.push_back({kSvd,
                  Params(SvdParams{.full_matrices = true}),
                  {tall},
                  4 * (4 * m * m * n + 8 * mn2 + 9 * n3)});
  rows.push_back({kSchur, Params(VectorsParams{true}), {square}, 4 * 25 * n3});
  rows.push_back({kSchur, Params(VectorsParams{false}), {square}, 4 * 10 * n3});
  rows.push_back({kHessenberg, nullptr, {square}, 4 * 10 * n3 / 3});
  rows.push_back({kTridiagonal, Params(TridiagonalParams{}), {square}, 4 * 4 * n3 / 3});
  const std::string line = "f32[B,16]";
  rows.push_back({kTridiagonalSolve, nullptr, {line, line, line, "f32[B,16,3]"}, 6 * 4 * 16 * 3});
}

void AddProducts(std::vector<Row>& rows) {
  DotParams dot;
  dot.batch = {{0}, {0}};
  dot.contract = {{2}, {1}};
  rows.push_back({kDotGeneral, Params(dot), {"f32[B,5,6]", "f32[B,6,7]"}, 2. * 4 * 5 * 6 * 7});
  // Each row meets the matrix of its group, whatever their number.
  rows.push_back(
      {kRaggedDot, nullptr, {"f32[B,32,6]", "f32[B,8,6,7]", "i32[B,8]"}, 2. * 4 * 32 * 6 * 7});
  rows.push_back(
      {kRaggedContract, nullptr, {"f32[B,32,6]", "f32[B,32,7]", "i32[B,8]"}, 2. * 4 * 32 * 6 * 7});
  ConvolutionParams conv;
  conv.lhs = {{0, 1, 2}};
  conv.rhs = {{0, 1, 2}};
  conv.out = {{0, 1, 2}};
  conv.strides = {{1}};
  conv.low = conv.high = {{0}};
  conv.lhs_dilation = conv.rhs_dilation = {{1}};
  rows.push_back(
      {kConvGeneralDilated, Params(conv), {"f32[B,3,12]", "f32[5,3,4]"}, 2. * 4 * 5 * 9 * 3 * 4});
}

void AddLines(std::vector<Row>& rows) {
  const double lines = 4, n = 16;
  for (const OpDef* op : {&kFft, &kIfft})
    rows.push_back({*op, Params(FourierParams{{{1}}, 16}), {"c64[B,16]"}, lines * 5 * n * 4});
  rows.push_back({kRfft, Params(FourierParams{{{1}}, 16}), {"f32[B,16]"}, lines * 2.5 * n * 4});
  rows.push_back({kIrfft, Params(FourierParams{{{1}}, 16}), {"c64[B,9]"}, lines * 2.5 * n * 4});
  rows.push_back({kSort, Params(SortParams{.dim = {{1}}}), {"f32[B,16]"}, lines * n * 4});
  rows.push_back({kTopK, Params(TopKParams{3}), {"f32[B,16]"}, lines * 10 * n});
  rows.push_back({kReducePrecision, Params(PrecisionParams{8, 7}), {"f32[B,16]"}, lines * 4 * n});
  for (const OpDef* op : ir::AllOps()) {
    if (op->flops_per_point == 0) continue;
    const std::string name(op->name),
        type = name.ends_with("and") || name.ends_with("or") || name.ends_with("xor") ? "i32[B,16]"
                                                                                      : "f32[B,16]";
    const bool windows = name.starts_with("reduce_window_") || name.starts_with("window_");
    if (name.starts_with("reduce_") && !windows && name != "reduce_precision")
      rows.push_back({*op, Params(DimsParams{{{1}}}), {type}, lines * n});
    if (name == "argmax" || name == "argmin")
      rows.push_back({*op, Params(DimParams{{{1}}}), {type}, lines * n * 2, "i32[B]"});
    if (name.starts_with("cum"))
      rows.push_back({*op,
                      Params(CumulativeParams{{{1}}, false}),
                      {type},
                      lines * n * (name == "cumlogsumexp" ? 30 : 1)});
    if (!windows) continue;
    // Windows of 3 with steps of 2, which overlap: 7 of them.
    WindowParams window;
    window.sizes = {{1, 3}};
    window.strides = {{1, 2}};
    window.low = window.high = {{0, 0}};
    window.base_dilation = window.window_dilation = {{1, 1}};
    std::vector<std::string> operands = {type};
    if (name.starts_with("window_take_")) operands.push_back("f32[B,16]");
    if (name.starts_with("window_put_")) operands.push_back("f32[B,7]");
    rows.push_back({*op, Params(window), operands, lines * 7 * 3});
  }
}

std::vector<Row> Rows() {
  Install();
  std::vector<Row> rows;
  AddMatrices(rows);
  AddProducts(rows);
  AddLines(rows);
  return rows;
}

TEST(Flops, AreThoseOfFormulasAndSplitAsBatchesAre) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.op.name);
    EXPECT_NEAR(FlopsOf(row, "4"), row.flops, 1e-9 * row.flops);
    EXPECT_NEAR(FlopsOf(row, "4@x"), row.flops / 4, 1e-9 * row.flops);
  }
}

TEST(Flops, OfEveryOpHaveAFormula) {
  std::set<std::string_view> known;
  for (const Row& row : Rows()) known.insert(row.op.name);
  for (const OpDef* op : ir::AllOps())
    if (op->flops_per_point > 0 && !std::holds_alternative<ir::AsElementwise>(*op->lowering)) {
      EXPECT_TRUE(known.contains(op->name)) << op->name << " has FLOPs and no formula here";
    }
}

TEST(Flops, OfGroupsAreSplitOverShardsOfGroups) {
  Install();
  const Row row{kRaggedDot, nullptr, {"f32[32,6]", "f32[B,6,7]", "i32[4]"}, 2. * 32 * 6 * 7};
  std::vector<const ir::Type*> operands;
  for (const std::string& text : row.operands) operands.push_back(TypeFrom(text, "4@x"));
  const ir::Type* result = TypeFrom("f32[32,7]", "4");
  const sharding::DimMap map = ir::DeviceMapOf(row.op, nullptr, operands, {&result, 1});
  const auto made = sharding::ChoosePartition(
      map, {TensorOf(operands[0]), TensorOf(operands[1]), TensorOf(operands[2])},
      {TensorOf(result)}, row.op.flops_per_point);
  EXPECT_DOUBLE_EQ(row.op.flops_per_point * made.flops, row.flops / 4);
}

}  // namespace
}  // namespace tessera::ops

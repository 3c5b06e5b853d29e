// Where the rows of a ragged_all_to_all come from. Moving them is the work of other ops.
#include "kernels/index/ragged_rows.h"

#include <algorithm>

#include "base/shape.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

// C14: the lists must be i64, and the position i32. C17: the lists must be [..., positions, 4,
// slices], and the position have the first of their batch dims: others share it. C18: slices must
// be a multiple of the positions, and sizes cannot be negative.
std::vector<ShapeAndDType> RaggedRowsType(const TypeCall& c) {
  CheckCount(c, 2);
  const auto& p = ir::As<RaggedRowsParams>(c.params);
  if (c.operands[0]->dtype() != i64 || c.operands[1]->dtype() != i32)
    c.FailDType(14, fmt::format("it takes lists in i64 and a position in i32, not {} and {}",
                                c.operands[0]->dtype().name(), c.operands[1]->dtype().name()));
  Shape shape = c.operands[0]->shape();
  const size_t r = shape.size();
  const Shape& position = c.operands[1]->shape();
  if (r < 3 || shape[r - 2] != 4 || position.size() + 3 > r ||
      !std::equal(position.begin(), position.end(), shape.begin()))
    c.FailShape(17,
                fmt::format("the shapes must be [..., positions, 4, slices] and batch dims, not "
                            "{} and {}",
                            ShapeText(shape), ShapeText(position)));
  const int64_t positions = shape[r - 3], slices = shape[r - 1];
  if (positions == 0 || slices % positions != 0)
    c.FailShape(18, fmt::format("{} slices are not an equal number for each of {} positions",
                                slices, positions));
  if (p.operand_rows < 0 || p.output_rows < 0) c.FailShape(18, "a number of rows is negative");
  shape.resize(r - 3);
  shape.push_back(p.output_rows);
  return {{std::move(shape), i64}};
}

// Only batch dims may be sharded.
sharding::DimMap RaggedRowsDims(const ir::DimsCall& c) {
  sharding::DimMap map;
  sharding::DimFactors batch, lists, rows;
  const Shape& shape = *c.operands[0];
  for (size_t d = 0; d + 3 < shape.size(); ++d)
    batch.push_back({map.AddFactor({.size = shape[d]})});
  const auto whole = [&](int64_t size) {
    return map.AddFactor({.size = size, .kind = sharding::FactorKind::kReplicate});
  };
  lists = rows = batch;
  for (size_t d = shape.size() - 3; d < shape.size(); ++d) lists.push_back({whole(shape[d])});
  rows.push_back({whole(c.results[0]->back())});
  batch.resize(c.operands[1]->size());
  map.operands = {lists, batch};
  map.results = {rows};
  return map;
}

void MakeRaggedRows(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<RaggedRowsParams>(c.params);
  const Shape& lists = c.operands[0].shape;
  const size_t r = lists.size();
  *out = kernels::RaggedRows({.batch = base::Elements({lists.begin(), lists.end() - 3}),
                              .positions = lists[r - 3],
                              .slices = lists[r - 1],
                              .receivers = base::Elements(c.operands[1].shape),
                              .operand_rows = p.operand_rows,
                              .output_rows = p.output_rows});
}

// For lists without mistakes.
void RaggedRowsReference(const ir::ReferenceCall& c) {
  const auto& p = ir::As<RaggedRowsParams>(c.params);
  const ir::HostTensor& lists = *c.operands[0];
  ir::HostTensor& out = *c.results[0];
  const size_t r = lists.shape.size();
  const int64_t positions = lists.shape[r - 3], slices = lists.shape[r - 1];
  const int64_t share = slices / positions;
  for (int64_t i = 0; i < out.size(); ++i) out.SetInt(i, -1);
  const int64_t size = positions * 4 * slices;
  for (int64_t b = 0; size > 0 && b < lists.size() / size; ++b) {
    const int64_t me = c.operands[1]->Int(b * c.operands[1]->size() * size / lists.size());
    if (me < 0 || me >= positions) continue;  // nobody sends to it
    for (int64_t from = 0; from < positions; ++from)
      for (int64_t s = me * share; s < (me + 1) * share; ++s) {
        const auto list = [&](int64_t k) {
          return lists.Int(b * size + (from * 4 + k) * slices + s);
        };
        for (int64_t row = 0; row < list(1); ++row)
          out.SetInt(b * p.output_rows + list(2) + row, from * p.operand_rows + list(0) + row);
      }
  }
}

}  // namespace

constexpr OpDef kRaggedRows{
    .name = "ragged_rows",
    .doc = "The row that ragged_all_to_all writes to each row of its output, or -1.",
    .type = ir::TypeFn{RaggedRowsType},
    .dims = ir::DimMapFn{RaggedRowsDims},
    .lowering = ir::AsKernel{MakeRaggedRows},
    .reference = ir::ReferenceFn{RaggedRowsReference},
    .diff = kZeroAlmostEverywhere,
    .params = ir::KindOf<RaggedRowsParams>(),
    .operand_names = {"slices", "position", ""}};

Records RaggedRowsOps() {
  static constexpr const OpDef* kOps[] = {&kRaggedRows};
  return kOps;
}

}  // namespace tessera::ops

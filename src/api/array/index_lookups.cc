// Gather and scatter on operands whose partial sums are reduced first.
#include "api/array/index_lookups.h"

#include <fmt/format.h>

#include <limits>

#include "api/array/apply_elementwise.h"
#include "api/control/index_check.h"
#include "ops/reference_values.h"

namespace tessera::api {

using ops::ScalarOp;

namespace {

// Whether operands are first made plain: an out_sharding is given and names no unreduced or reduced
// axes.
bool SumsFirst(const std::optional<PartitionSpec>& out) {
  return out && out->unreduced_axes().empty() && out->reduced_axes().empty();
}

// Returns the table of a gather, summed over its unreduced axes. It stays reduced over the axes
// that shard the slices, because each device then looks up only its own slices.
Array SummedTable(const Array& x, const PartitionSpec& out, Call call) {
  const sharding::Resolved wanted = sharding::Resolve(out, MeshInScope({x}), out.rank());
  sharding::TensorSharding s = TypeOf(x)->sharding();
  if (!s.unreduced.empty() || wanted.problem) return Plain(x, call);
  sharding::AxisList kept;
  for (sharding::AxisPart a : s.reduced)
    for (const sharding::DimAxes& d : wanted.sharding.dims)
      if (sharding::OverlapsAny(d.axes, a)) kept.push_back(a);
  if (kept == s.reduced) return x;
  s.reduced = kept;
  return Moved(x, std::move(s), call);
}

}  // namespace

Array FromEnd(const Array& indices, int64_t size, Call call, bool is_checked) {
  DType t = TypeOf(indices)->dtype();
  if (!t.is_integer())
    FailDType(call, 15, fmt::format("indices must be integers, not {}", t.name()));
  if (is_checked) CheckIndices(indices, {{.size = size}}, Negative::kFromEnd, call);
  if (!t.is_signed()) return indices;
  DType wide = t.size() < 4 ? i32 : t;  // wide enough for the size
  Array i = Convert(indices, wide, call);
  Array zero = StrongScalar(0, wide, call);
  const Array negative = Elementwise(ScalarOp::kLt, {i, zero}, call);
  return Where(negative, Elementwise(ScalarOp::kAdd, {i, StrongScalar(size, wide, call)}, call), i,
               call);
}

base::ElementBits FillBits(const std::optional<Scalar>& value, DType dtype, Call call) {
  if (value) return ScalarBits(*value, dtype, call);
  ir::HostTensor element(dtype, {1});
  if (dtype.is_inexact())
    element.SetFloat(0, std::numeric_limits<double>::quiet_NaN());
  else
    element.SetInt(0, dtype.is_signed() ? ops::reference::LowestInt(dtype)
                                        : ops::reference::HighestInt(dtype));
  return ops::reference::BitsAt(element, 0);
}

Array Gather(const Array& x, const Array& indices, ops::GatherParams params,
             const base::Shape& result, const std::optional<PartitionSpec>& out, Call call) {
  DType dtype = TypeOf(x)->dtype();
  params.fill.dtype = dtype;
  if (params.mode != LookupMode::kFill) params.fill.bits = {};  // unused: equal ops stay equal
  ShapeAndDType wanted{result, dtype};
  std::vector<Array> operands = {x, indices};
  if (SumsFirst(out)) operands = {SummedTable(x, *out, call), Plain(indices, call)};
  return Run(ops::kGather, ir::MakeParams(std::move(params)), operands, call,
             {.wanted = &wanted, .out_sharding = out, .rank = static_cast<int>(result.size())});
}

Array Scatter(const ir::OpDef& op, const Array& x, const Array& indices, const Array& updates,
              ops::ScatterParams params, const std::optional<PartitionSpec>& out, Call call) {
  std::vector<Array> operands = {x, indices, updates};
  if (SumsFirst(out))
    for (Array& a : operands) a = Plain(a, call);
  return Run(op, ir::MakeParams(std::move(params)), operands, call,
             {.out_sharding = out, .rank = static_cast<int>(TypeOf(x)->rank())});
}

}  // namespace tessera::api

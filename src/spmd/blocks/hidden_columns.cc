// Follows definitions back to values whose hidden columns are equal, and through linear ones to
// their mean.
#include "spmd/blocks/hidden_columns.h"

#include <absl/algorithm/container.h>

#include <utility>

#include "ir/control_params.h"

namespace tessera::spmd {

using ir::Instruction;
using ir::ValueId;
using plan::ScalarOp;

namespace {

// Returns the place of a device's sums over a dim: they are partial sums over the dim's axes.
const ir::Type* PlaceOfSums(const ir::Type* place, int dim) {
  base::Shape shape = place->shape();
  shape.erase(shape.begin() + dim);
  sharding::TensorSharding s = place->sharding();
  const sharding::AxisList& axes = base::At(s.dims, dim).axes;
  s.unreduced.insert(s.unreduced.end(), axes.begin(), axes.end());
  s.dims.erase(s.dims.begin() + dim);
  return ir::Type::Get(std::move(shape), place->dtype(), std::move(s));
}

const ir::Type* WidenedPlace(const ir::Type* place) {
  const DType dtype = place->dtype();
  return dtype.is_floating() && dtype.size() < 4 ? place->WithDType(f32) : place;
}

// Whether the columns of its result are columns of its operand.
bool MovesColumns(const Instruction& i) {
  return std::holds_alternative<ir::AsBroadcast>(*i.op->lowering) || IsView(i);
}
bool IsProduct(const Instruction& i) { return i.operands.size() == 2 && i.op->flops_per_point > 0; }

}  // namespace

const ir::Type* PartBody::PlaceOf(ValueId v, int64_t count) const {
  const ir::Type* place = columns.body().place(v);
  return columns.HasColumns(v) ? WithSize(place, columns.dim(v), count) : place;
}
ir::Cost PartBody::CostOf(const Instruction& i, int64_t count) const {
  ir::Cost cost = *i.cost;
  const double share = static_cast<double>(count) / static_cast<double>(columns.count());
  cost.flops *= share;
  cost.whole_flops *= share;
  return cost;
}

ValueId Widened(Writer& at, ValueId v, Loc loc) {
  const DType dtype = at.Place(v)->dtype();
  return dtype.is_floating() && dtype.size() < 4 ? at.Convert(v, f32, loc) : v;
}

ValueId BroadcastOperand(Writer& at, ValueId v, const ir::Type* place, Loc loc) {
  if (at.Place(v)->rank() != place->rank()) return at.BroadcastScalar(v, place, loc);
  if (LocalType(at.Place(v))->shape() == LocalType(place)->shape()) return v;
  ops::BroadcastParams all;
  for (int64_t d = 0; d < place->rank(); ++d) all.dims.push_back(d);
  return at.Emit(ops::kBroadcastInDim, ir::MakeParams(all), {v}, place, loc);
}

std::optional<ValueId> HiddenColumns::Reduced(const Instruction& i, bool sums) {
  std::optional<ValueId> column = sums ? Mean(i.operands[0]) : Column(i.operands[0]);
  if (!column) return {};
  const ir::Type* place = Body().place(i.results[0])->WithDType(body_.in.Place(*column)->dtype());
  if (Body().type(i.operands[0])->rank() == place->rank() + 1)
    return body_.in.Reshape(*column, place, i.loc);
  return body_.in.Emit(*i.op, i.params, {*column}, place, i.loc, body_.CostOf(i, 1));
}
std::optional<ValueId> HiddenColumns::Product(const Instruction& i) {
  Operands operands;
  int means = 0;
  for (ValueId v : i.operands) {
    std::optional<ValueId> column = Column(v);
    if (!column && means++ == 0) column = Mean(v);
    if (!column) return {};
    operands.push_back(*column);
  }
  return EmitWidened(i, std::move(operands), Body().place(i.results[0]));
}
// Floats below 32 bits are multiplied in f32.
ValueId HiddenColumns::EmitWidened(const Instruction& i, Operands operands, const ir::Type* place) {
  for (ValueId& v : operands) v = Widened(body_.in, v, body_.loop.loc);
  return body_.in.Emit(*i.op, i.params, operands, WidenedPlace(place), i.loc, body_.CostOf(i, 1));
}

std::optional<ValueId> HiddenColumns::Column(ValueId v) {
  if (!body_.columns.HasColumns(v)) return body_.visible[v];
  const auto known = known_.find(v);
  if (known != known_.end()) return known->second;
  const Instruction* i = body_.columns.DefinitionOf(v);
  const std::optional<ValueId> column = i ? ComputeColumn(*i) : std::nullopt;
  known_.insert_or_assign(v, column);
  return column;
}
std::optional<ValueId> HiddenColumns::ComputeColumn(const Instruction& i) {
  const ir::Type* place = body_.PlaceOf(i.results[0], 1);
  const ScalarOp* op = ScalarOpOf(i);
  if (const auto known = body_.columns.KnownBool(i.results[0], body_.bounds, columns_))
    return body_.in.BroadcastScalar(body_.in.Number(*known ? 1 : 0, place, i.loc), place, i.loc);
  if (op && *op == ScalarOp::kSelect) {
    const auto known = body_.columns.KnownBool(i.operands[0], body_.bounds, columns_);
    if (!known) return {};
    const std::optional<ValueId> column = Column(i.operands[*known ? 2 : 1]);
    return column ? std::optional(BroadcastOperand(body_.in, *column, place, i.loc)) : column;
  }
  if (!op && !MovesColumns(i) && !IsProduct(i)) return {};
  Operands operands;
  for (ValueId v : i.operands) {
    const std::optional<ValueId> column = Column(v);
    if (!column) return {};
    operands.push_back(*column);
  }
  return body_.in.Emit(*i.op, i.params, operands, place, i.loc, body_.CostOf(i, 1));
}

std::optional<ValueId> HiddenColumns::Mean(ValueId v) {
  if (const auto column = Column(v)) return Widened(body_.in, *column, body_.loop.loc);
  if (const auto it = means_.find(v); it != means_.end()) return it->second;
  std::optional<ValueId> mean;
  if (Body().type(v)->dtype().is_floating()) {
    const Instruction* i = body_.columns.DefinitionOf(v);
    mean = i ? ComputeMean(*i) : MeanOfInput(v);
  }
  means_.insert_or_assign(v, mean);
  return mean;
}

// Returns the mean of an input that is the same in all iterations. It is computed before the
// loop. Columns are divided before they are summed, since the sum of large numbers may overflow.
std::optional<ValueId> HiddenColumns::MeanOfInput(ValueId v) {
  const auto k = static_cast<size_t>(absl::c_find(Body().inputs, v) - Body().inputs.begin());
  if (k >= base::Size(ir::As<ir::ScanParams>(body_.loop.params.get()).constants)) return {};
  const Loc loc = body_.loop.loc;
  const int dim = body_.columns.dim(v);
  const ValueId columns =
      Widened(body_.out,
              body_.out.Slice(body_.loop.operands[k], dim, columns_.begin, columns_.end, loc), loc);
  const ir::Type* place = body_.out.Place(columns);
  const double share = 1.0 / static_cast<double>(columns_.count());
  const ValueId shares =
      body_.out.Apply(ScalarOp::kMul, {columns, body_.out.Number(share, place, loc)}, place, loc);
  ops::DimsParams over;
  over.dims.push_back(dim);
  const auto flops = static_cast<double>(LocalType(place)->elements());
  const ValueId sum =
      body_.out.Emit(ops::kReduceSum, ir::MakeParams(over), {shares}, PlaceOfSums(place, dim), loc,
                     {.flops = flops, .whole_flops = flops});
  const ir::Type* column = WithSize(place, dim, 1);
  const ValueId mean = body_.in.AddValue(column, loc);
  body_.constants.Add(mean, body_.out.Reshape(sum, column, loc));
  return mean;
}

std::optional<ValueId> HiddenColumns::ComputeMean(const Instruction& i) {
  const ir::Type* place = body_.PlaceOf(i.results[0], 1);
  const ScalarOp* op = ScalarOpOf(i);
  if (op && *op == ScalarOp::kSelect) {
    const auto known = body_.columns.KnownBool(i.operands[0], body_.bounds, columns_);
    if (!known) return {};
    const auto mean = Mean(i.operands[*known ? 2 : 1]);
    if (!mean) return {};
    return BroadcastOperand(body_.in, *mean, place->WithDType(body_.in.Place(*mean)->dtype()),
                            i.loc);
  }
  if (!IsLinear(i)) return {};
  Operands operands;
  for (ValueId v : i.operands) {
    const std::optional<ValueId> mean = Mean(v);
    if (!mean) return {};
    operands.push_back(*mean);
  }
  if (op && *op == ScalarOp::kConvert)
    return body_.in.Convert(operands[0], WidenedPlace(place)->dtype(), i.loc);
  return EmitWidened(i, std::move(operands), place);
}

// Whether the mean of the results is the result of the means.
bool HiddenColumns::IsLinear(const Instruction& i) {
  const auto is_same = [&](ValueId v) { return Column(v).has_value(); };
  const ScalarOp* op = ScalarOpOf(i);
  if (!op) {
    return MovesColumns(i) || (IsProduct(i) && absl::c_any_of(i.operands, is_same));
  }
  switch (*op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kNeg:
      return true;
    case ScalarOp::kConvert:
      return Body().type(i.operands[0])->dtype().is_floating();
    case ScalarOp::kMul:
      return absl::c_any_of(i.operands, is_same);
    case ScalarOp::kDiv:
      return is_same(i.operands[1]);
    default:
      return false;
  }
}

}  // namespace tessera::spmd

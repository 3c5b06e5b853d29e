// Copies the body for the visible columns, and adds the share of hidden ones to each reduction.
#include "spmd/blocks/visible_part.h"

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <utility>

#include "ir/control_params.h"
#include "ir/uses.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using plan::ScalarOp;

// Adjacent hidden columns: those before the visible ones, or those after them.
struct HiddenColumns {
  Columns columns;
  // Values of the body with one column that equals each of the hidden ones; none: they differ.
  absl::flat_hash_map<ValueId, std::optional<ValueId>> representatives = {};
  // Means over the hidden columns of inputs of the body.
  absl::flat_hash_map<ValueId, ValueId> means = {};
};

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

// Converts floats below 32 bits to f32, in which they are summed.
ValueId Widened(Writer& at, ValueId v, Loc loc) {
  const DType dtype = at.Place(v)->dtype();
  return dtype.is_floating() && dtype.size() < 4 ? at.Convert(v, f32, loc) : v;
}

// Broadcasts an operand of an elementwise op, a scalar or one with dims of size 1, to its result.
ValueId BroadcastOperand(Writer& at, ValueId v, const ir::Type* place, Loc loc) {
  if (at.Place(v)->rank() != place->rank()) return at.BroadcastScalar(v, place, loc);
  if (LocalType(at.Place(v))->shape() == LocalType(place)->shape()) return v;
  ops::BroadcastParams all;
  for (int64_t d = 0; d < place->rank(); ++d) all.dims.push_back(d);
  return at.Emit(ops::kBroadcastInDim, ir::MakeParams(all), {v}, place, loc);
}

class PartBuilder {
 public:
  PartBuilder(Writer& out, const Instruction& loop, const LoopColumns& columns,
              const LoopPart& part, const ValueBounds& bounds)
      : out_(out),
        in_(body_),
        loop_(loop),
        params_(ir::As<ir::ScanParams>(loop.params.get())),
        columns_(columns),
        p_(columns.body()),
        part_(part),
        bounds_(bounds),
        visible_(p_.values.size(), kNoValue) {
    body_.mesh = p_.mesh;
    body_.per_device = true;
    for (Columns side :
         {Columns{0, part.visible.begin}, Columns{part.visible.end, columns.count()}})
      if (side.count() > 0) hidden_.push_back({.columns = side});
  }

  std::optional<std::vector<ValueId>> Build(const std::vector<ValueId>& carries) {
    for (size_t k = 0; k < p_.inputs.size(); ++k) AddInput(k, carries);
    for (const Instruction& i : p_.instructions)
      if (!Copy(i)) return {};
    for (ValueId v : p_.outputs) body_.outputs.push_back(VisibleOf(v));
    return AddLoop();
  }

 private:
  // Returns the value of the new body that stands for v. It has the visible columns of v, or is the
  // same as v if v has no columns.
  ValueId VisibleOf(ValueId v) const { return visible_[v]; }

  // Returns the place of v with so many columns.
  const ir::Type* PlaceOf(ValueId v, int64_t columns) const {
    return columns_.HasColumns(v) ? WithSize(p_.place(v), columns_.dim(v), columns) : p_.place(v);
  }

  // ---- inputs of the body ----

  void AddInput(size_t k, const std::vector<ValueId>& carries) {
    const ValueId v = p_.inputs[k];
    ValueId outside = loop_.operands[k];
    const auto constants = base::Size(params_.constants), carried = base::Size(params_.carries);
    const bool is_constant = k < constants;
    if (is_constant) {
      outside = SliceVisible(outside, v, 0);
    } else if (k < constants + carried) {
      outside = carries[k - constants];
    } else {
      outside = out_.Slice(outside, 0, part_.begin, part_.end, loop_.loc);
      outside = SliceVisible(outside, v, 1);
    }
    visible_[v] = in_.AddValue(PlaceOf(v, part_.visible.count()), loop_.loc);
    (is_constant ? constants_ : varying_).push_back(outside);
    (is_constant ? body_.inputs : varying_inputs_).push_back(VisibleOf(v));
  }

  // Slices the visible columns out of an operand of the loop. The operand has `leading` dims before
  // the dims of v, the input of the body.
  ValueId SliceVisible(ValueId operand, ValueId v, int leading) {
    if (!columns_.HasColumns(v)) return operand;
    return out_.Slice(operand, columns_.dim(v) + leading, part_.visible.begin, part_.visible.end,
                      loop_.loc);
  }

  // Returns the mean over the hidden columns of an input that is the same in all iterations; none
  // for other values. It is computed before the loop. Columns are divided before they are summed,
  // since the sum of large numbers may overflow.
  std::optional<ValueId> MeanOfHidden(HiddenColumns& hidden, ValueId v) {
    const auto k = static_cast<size_t>(absl::c_find(p_.inputs, v) - p_.inputs.begin());
    if (k >= base::Size(params_.constants) || !p_.type(v)->dtype().is_floating()) return {};
    if (const auto it = hidden.means.find(v); it != hidden.means.end()) return it->second;
    const Loc loc = loop_.loc;
    const int dim = columns_.dim(v);
    const ValueId columns = Widened(
        out_, out_.Slice(loop_.operands[k], dim, hidden.columns.begin, hidden.columns.end, loc),
        loc);
    const ir::Type* place = out_.Place(columns);
    const double share = 1.0 / static_cast<double>(hidden.columns.count());
    const ValueId shares =
        out_.Apply(ScalarOp::kMul, {columns, out_.Number(share, place, loc)}, place, loc);
    ops::DimsParams over;
    over.dims.push_back(dim);
    const auto flops = static_cast<double>(LocalType(place)->elements());
    const ValueId sum =
        out_.Emit(ops::kReduceSum, ir::MakeParams(over), {shares}, PlaceOfSums(place, dim), loc,
                  {.flops = flops, .whole_flops = flops});
    const ir::Type* column = WithSize(place, dim, 1);
    constants_.push_back(out_.Reshape(sum, column, loc));
    const ValueId mean = in_.AddValue(column, loc);
    body_.inputs.push_back(mean);
    return hidden.means[v] = mean;
  }

  // ---- the body ----

  bool Copy(const Instruction& i) {
    if (i.results.size() == 1 && columns_.Reduces(i)) return CopyReduction(i);
    if (!columns_.Touches(i))
      CopyUnchanged(i);
    else
      visible_[i.results[0]] = CopyVisible(i);
    return true;
  }
  void CopyUnchanged(const Instruction& i) {
    Instruction copy = i;
    for (ValueId& v : copy.operands) v = VisibleOf(v);
    for (ValueId& v : copy.results) v = visible_[v] = in_.AddValue(p_.place(v), i.loc);
    body_.instructions.push_back(std::move(copy));
  }
  ValueId CopyVisible(const Instruction& i) {
    absl::InlinedVector<ValueId, 3> operands;
    for (ValueId v : i.operands) operands.push_back(VisibleOf(v));
    return in_.Emit(*i.op, i.params, operands, PlaceOf(i.results[0], part_.visible.count()), i.loc,
                    CostOf(i, part_.visible.count()));
  }
  // Returns the cost of an instruction on so many columns.
  ir::Cost CostOf(const Instruction& i, int64_t columns) const {
    ir::Cost cost = *i.cost;
    const double share = static_cast<double>(columns) / static_cast<double>(columns_.count());
    cost.flops *= share;
    cost.whole_flops *= share;
    return cost;
  }

  // Reduces the visible columns, and combines the result with the result of the hidden ones.
  bool CopyReduction(const Instruction& i) {
    const auto* reduces = std::get_if<ir::AsReduction>(&*i.op->lowering);
    const bool sums = !reduces || reduces->reduction == Reduction::kSum;
    // Integers have no mean, and their dtype may not hold the number of columns.
    if (sums && !p_.type(i.results[0])->dtype().is_floating()) return false;
    ValueId all = CopyVisible(i);
    const DType dtype = in_.Place(all)->dtype();
    for (HiddenColumns& hidden : hidden_) {
      std::optional<ValueId> row =
          reduces ? RepresentativeReduction(hidden, i) : RepresentativeProduct(hidden, i);
      if (!row) return false;
      if (sums) {
        *row = Widened(in_, *row, loop_.loc);
        const ir::Type* place = in_.Place(*row);
        const auto count = static_cast<double>(hidden.columns.count());
        *row = in_.Apply(ScalarOp::kMul, {*row, in_.Number(count, place, i.loc)}, place, i.loc);
        all = in_.Convert(all, place->dtype(), i.loc);
      }
      const ScalarOp op = sums                                    ? ScalarOp::kAdd
                          : reduces->reduction == Reduction::kMax ? ScalarOp::kMax
                                                                  : ScalarOp::kMin;
      all = in_.Apply(op, {all, *row}, in_.Place(all), i.loc);
    }
    visible_[i.results[0]] = in_.Convert(all, dtype, i.loc);
    return true;
  }
  // Reduces one hidden column.
  std::optional<ValueId> RepresentativeReduction(HiddenColumns& hidden, const Instruction& i) {
    const std::optional<ValueId> column = RepresentativeColumn(hidden, i.operands[0]);
    if (!column) return {};
    const ir::Type* place = p_.place(i.results[0]);
    if (p_.type(i.operands[0])->rank() == p_.type(i.results[0])->rank() + 1)
      return in_.Reshape(*column, place, i.loc);
    return in_.Emit(*i.op, i.params, {*column}, place, i.loc, CostOf(i, 1));
  }
  // Multiplies one hidden column of an operand, or of both. If the hidden columns of one operand
  // differ, their mean takes the place of a column.
  std::optional<ValueId> RepresentativeProduct(HiddenColumns& hidden, const Instruction& i) {
    absl::InlinedVector<ValueId, 2> operands;
    int means = 0;
    for (ValueId v : i.operands) {
      std::optional<ValueId> column = RepresentativeColumn(hidden, v);
      if (!column && means++ == 0) column = MeanOfHidden(hidden, v);
      if (!column) return {};
      operands.push_back(Widened(in_, *column, loop_.loc));
    }
    const ir::Type* place = p_.place(i.results[0]);
    if (place->dtype().is_floating() && place->dtype().size() < 4) place = place->WithDType(f32);
    return in_.Emit(*i.op, i.params, operands, place, i.loc, CostOf(i, 1));
  }

  // ---- one column for all hidden ones ----

  // Returns v with one column that equals each of the hidden ones; none if they differ.
  std::optional<ValueId> RepresentativeColumn(HiddenColumns& hidden, ValueId v) {
    if (!columns_.HasColumns(v)) return VisibleOf(v);
    const auto known = hidden.representatives.find(v);
    if (known != hidden.representatives.end()) return known->second;
    const Instruction* i = columns_.DefinitionOf(v);
    const std::optional<ValueId> column = i ? ComputeRepresentative(hidden, *i) : std::nullopt;
    hidden.representatives.insert_or_assign(v, column);
    return column;
  }
  std::optional<ValueId> ComputeRepresentative(HiddenColumns& hidden, const Instruction& i) {
    const ir::Type* place = PlaceOf(i.results[0], 1);
    const ScalarOp* op = ScalarOpOf(i);
    if (const auto known = columns_.KnownBool(i.results[0], bounds_, hidden.columns))
      return in_.BroadcastScalar(in_.Number(*known ? 1 : 0, place, i.loc), place, i.loc);
    if (op && *op == ScalarOp::kSelect) {
      const auto known = columns_.KnownBool(i.operands[0], bounds_, hidden.columns);
      if (!known) return {};
      const std::optional<ValueId> column =
          RepresentativeColumn(hidden, i.operands[*known ? 2 : 1]);
      return column ? std::optional(BroadcastOperand(in_, *column, place, i.loc)) : column;
    }
    if (!op && !std::holds_alternative<ir::AsBroadcast>(*i.op->lowering) && !IsView(i)) return {};
    absl::InlinedVector<ValueId, 3> operands;
    for (ValueId v : i.operands) {
      const std::optional<ValueId> column = RepresentativeColumn(hidden, v);
      if (!column) return {};
      operands.push_back(*column);
    }
    return in_.Emit(*i.op, i.params, operands, place, i.loc, CostOf(i, 1));
  }

  // ---- the loop ----

  std::vector<ValueId> AddLoop() {
    const auto constants = static_cast<int64_t>(body_.inputs.size());
    body_.inputs.insert(body_.inputs.end(), varying_inputs_.begin(), varying_inputs_.end());
    ir::RemoveDeadOutsideRegions(body_);
    std::vector<ValueId> operands = constants_, results;
    operands.insert(operands.end(), varying_.begin(), varying_.end());
    for (size_t k = 0; k < loop_.results.size(); ++k) {
      const ir::Type* place = out_.Place(loop_.results[k]);
      if (k >= base::Size(params_.carries)) place = WithSize(place, 0, part_.end - part_.begin);
      results.push_back(out_.AddValue(place, loop_.loc));
    }
    const ir::ScanParams params{
        .constants = constants, .carries = params_.carries, .length = part_.end - part_.begin};
    out_.program().instructions.push_back(
        {.op = loop_.op,
         .params = ir::MakeParams(params),
         .operands = {operands.begin(), operands.end()},
         .results = {results.begin(), results.end()},
         .loc = loop_.loc,
         .regions = {std::make_shared<const ir::Program>(std::move(body_))},
         .cost = loop_.cost});
    return results;
  }

  ir::Program body_;  // of the new loop
  Writer &out_, in_;  // outside of the new loop, and in its body
  const Instruction& loop_;
  const ir::ScanParams& params_;
  const LoopColumns& columns_;
  const ir::Program& p_;  // the body of `loop_`
  const LoopPart part_;
  const ValueBounds& bounds_;
  std::vector<HiddenColumns> hidden_;
  base::IdVector<ValueId, ValueId> visible_;
  // Operands of the new loop: constants, and carries followed by slices with their inputs.
  std::vector<ValueId> constants_, varying_, varying_inputs_;
};

}  // namespace

std::optional<std::vector<ValueId>> AddPart(Writer& out, const Instruction& loop,
                                            const LoopColumns& columns, const LoopPart& part,
                                            const ValueBounds& bounds,
                                            const std::vector<ValueId>& carries) {
  return PartBuilder(out, loop, columns, part, bounds).Build(carries);
}

}  // namespace tessera::spmd

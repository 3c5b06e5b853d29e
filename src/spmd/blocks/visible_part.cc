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
  // Means over the hidden columns of values of the body, with one column; none: not computed here.
  absl::flat_hash_map<ValueId, std::optional<ValueId>> means = {};
  // Of each carry with columns: its sum over the iterations in one hidden column.
  absl::flat_hash_map<int64_t, ValueId> sums = {};
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

// Whether an instruction with columns in its result has those of its operand.
bool MovesColumns(const Instruction& i) {
  return std::holds_alternative<ir::AsBroadcast>(*i.op->lowering) || IsView(i);
}
bool IsProduct(const Instruction& i) { return i.operands.size() == 2 && i.op->flops_per_point > 0; }

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
    if (!AddOutputs()) return {};
    return JoinCarries(AddLoop(), carries);
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
    const auto constants = base::Size(params_.constants), carried = base::Size(params_.carries);
    visible_[v] = in_.AddValue(PlaceOf(v, part_.visible.count()), loop_.loc);
    if (k < constants) {
      constants_.Add(VisibleOf(v), SliceVisible(loop_.operands[k], v, 0));
    } else if (k < constants + carried) {
      carries_.Add(VisibleOf(v), SliceVisible(carries[k - constants], v, 0));
    } else {
      const ValueId slices = out_.Slice(loop_.operands[k], 0, part_.begin, part_.end, loop_.loc);
      slices_.Add(VisibleOf(v), SliceVisible(slices, v, 1));
    }
  }

  // Slices the visible columns out of an operand of the loop. The operand has `leading` dims before
  // the dims of v, the input of the body.
  ValueId SliceVisible(ValueId operand, ValueId v, int leading) {
    if (!columns_.HasColumns(v)) return operand;
    return out_.Slice(operand, columns_.dim(v) + leading, part_.visible.begin, part_.visible.end,
                      loop_.loc);
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
          reduces ? ReduceHidden(hidden, i, sums) : MultiplyHidden(hidden, i);
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
  // Reduces one hidden column, or in a sum the mean of the hidden ones.
  std::optional<ValueId> ReduceHidden(HiddenColumns& hidden, const Instruction& i, bool sums) {
    std::optional<ValueId> column =
        sums ? MeanOfHidden(hidden, i.operands[0]) : RepresentativeColumn(hidden, i.operands[0]);
    if (!column) return {};
    const ir::Type* place = p_.place(i.results[0])->WithDType(in_.Place(*column)->dtype());
    if (p_.type(i.operands[0])->rank() == place->rank() + 1)
      return in_.Reshape(*column, place, i.loc);
    return in_.Emit(*i.op, i.params, {*column}, place, i.loc, CostOf(i, 1));
  }
  // Multiplies one hidden column of an operand, or of both. If the hidden columns of one operand
  // differ, their mean takes the place of a column.
  std::optional<ValueId> MultiplyHidden(HiddenColumns& hidden, const Instruction& i) {
    absl::InlinedVector<ValueId, 3> operands;
    int means = 0;
    for (ValueId v : i.operands) {
      std::optional<ValueId> column = RepresentativeColumn(hidden, v);
      if (!column && means++ == 0) column = MeanOfHidden(hidden, v);
      if (!column) return {};
      operands.push_back(*column);
    }
    return EmitWidened(i, std::move(operands), p_.place(i.results[0]), 1);
  }
  // Floats below 32 bits are multiplied in f32.
  ValueId EmitWidened(const Instruction& i, absl::InlinedVector<ValueId, 3> operands,
                      const ir::Type* place, int64_t columns) {
    for (ValueId& v : operands) v = Widened(in_, v, loop_.loc);
    if (place->dtype().is_floating() && place->dtype().size() < 4) place = place->WithDType(f32);
    return in_.Emit(*i.op, i.params, operands, place, i.loc, CostOf(i, columns));
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
    if (!op && !MovesColumns(i) && !IsProduct(i)) return {};
    absl::InlinedVector<ValueId, 3> operands;
    for (ValueId v : i.operands) {
      const std::optional<ValueId> column = RepresentativeColumn(hidden, v);
      if (!column) return {};
      operands.push_back(*column);
    }
    return in_.Emit(*i.op, i.params, operands, place, i.loc, CostOf(i, 1));
  }

  // ---- the mean of the hidden columns ----

  // Returns the mean over the hidden columns of v, with one column, in at least f32. None if it is
  // not that of a linear function of inputs that are the same in all iterations.
  std::optional<ValueId> MeanOfHidden(HiddenColumns& hidden, ValueId v) {
    if (const auto column = RepresentativeColumn(hidden, v))
      return Widened(in_, *column, loop_.loc);
    if (const auto it = hidden.means.find(v); it != hidden.means.end()) return it->second;
    std::optional<ValueId> mean;
    if (p_.type(v)->dtype().is_floating()) {
      const Instruction* i = columns_.DefinitionOf(v);
      mean = i ? ComputeMean(hidden, *i) : MeanOfInput(hidden, v);
    }
    hidden.means.insert_or_assign(v, mean);
    return mean;
  }

  // Returns the mean of an input that is the same in all iterations. It is computed before the
  // loop. Columns are divided before they are summed, since the sum of large numbers may overflow.
  std::optional<ValueId> MeanOfInput(const HiddenColumns& hidden, ValueId v) {
    const auto k = static_cast<size_t>(absl::c_find(p_.inputs, v) - p_.inputs.begin());
    if (k >= base::Size(params_.constants)) return {};
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
    const ValueId mean = in_.AddValue(column, loc);
    constants_.Add(mean, out_.Reshape(sum, column, loc));
    return mean;
  }

  std::optional<ValueId> ComputeMean(HiddenColumns& hidden, const Instruction& i) {
    const ir::Type* place = PlaceOf(i.results[0], 1);
    const ScalarOp* op = ScalarOpOf(i);
    if (op && *op == ScalarOp::kSelect) {
      const auto known = columns_.KnownBool(i.operands[0], bounds_, hidden.columns);
      if (!known) return {};
      const auto mean = MeanOfHidden(hidden, i.operands[*known ? 2 : 1]);
      if (!mean) return {};
      return BroadcastOperand(in_, *mean, place->WithDType(in_.Place(*mean)->dtype()), i.loc);
    }
    if (!IsLinear(hidden, i)) return {};
    absl::InlinedVector<ValueId, 3> operands;
    for (ValueId v : i.operands) {
      const std::optional<ValueId> mean = MeanOfHidden(hidden, v);
      if (!mean) return {};
      operands.push_back(*mean);
    }
    if (op && *op == ScalarOp::kConvert) return operands[0];
    return EmitWidened(i, std::move(operands), place, 1);
  }

  // Whether the mean of the results is the result of the means.
  bool IsLinear(HiddenColumns& hidden, const Instruction& i) {
    const auto is_same = [&](ValueId v) { return RepresentativeColumn(hidden, v).has_value(); };
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
        return p_.type(i.operands[0])->dtype().is_floating();
      case ScalarOp::kMul:
        return absl::c_any_of(i.operands, is_same);
      case ScalarOp::kDiv:
        return is_same(i.operands[1]);
      default:
        return false;
    }
  }

  // ---- the loop ----

  // Adds the body's outputs: carries, the sums of their hidden columns, and stacked values. Returns
  // false if hidden columns of a carry may differ.
  bool AddOutputs() {
    for (int64_t k = 0; k < params_.carries; ++k)
      body_.outputs.push_back(VisibleOf(base::At(p_.outputs, k)));
    for (HiddenColumns& hidden : hidden_)
      for (int64_t k = 0; k < params_.carries; ++k)
        if (columns_.HasColumns(base::At(p_.outputs, k)) && !AddSumOfHidden(hidden, k))
          return false;
    for (size_t k = base::Size(params_.carries); k < p_.outputs.size(); ++k)
      body_.outputs.push_back(VisibleOf(p_.outputs[k]));
    return true;
  }
  // Adds a carry with one column, to which each iteration adds a hidden column.
  bool AddSumOfHidden(HiddenColumns& hidden, int64_t k) {
    const ValueId added = *columns_.AddedTo(k);
    const std::optional<ValueId> column = RepresentativeColumn(hidden, added);
    if (!column) return false;
    const ir::Type* place = PlaceOf(added, 1);
    const ValueId sum = in_.AddValue(place, loop_.loc);
    hidden.sums[k] = sum;
    carries_.Add(sum, out_.Zeros(place, loop_.loc));
    body_.outputs.push_back(in_.Apply(ScalarOp::kAdd, {sum, *column}, place, loop_.loc));
    return true;
  }

  // Returns the results of the new loop.
  std::vector<ValueId> AddLoop() {
    std::vector<ValueId> operands, results;
    for (const Inputs* inputs : {&constants_, &carries_, &slices_}) {
      body_.inputs.insert(body_.inputs.end(), inputs->values.begin(), inputs->values.end());
      operands.insert(operands.end(), inputs->operands.begin(), inputs->operands.end());
    }
    ir::RemoveDeadOutsideRegions(body_);
    const ir::ScanParams params{.constants = std::ssize(constants_.values),
                                .carries = std::ssize(carries_.values),
                                .length = part_.iterations()};
    for (ValueId v : carries_.values) results.push_back(out_.AddValue(in_.Place(v), loop_.loc));
    for (size_t k = base::Size(params_.carries); k < loop_.results.size(); ++k)
      results.push_back(
          out_.AddValue(WithSize(out_.Place(loop_.results[k]), 0, params.length), loop_.loc));
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

  // Returns the results of the loop that this is a part of. `results`: of the new loop. `before`:
  // the carries before it.
  std::vector<ValueId> JoinCarries(const std::vector<ValueId>& results,
                                   const std::vector<ValueId>& before) {
    const auto carries = base::Size(params_.carries);
    std::vector<ValueId> joined(results.begin(), results.begin() + params_.carries);
    for (size_t k = 0; k < carries; ++k)
      if (columns_.HasColumns(p_.outputs[k])) joined[k] = JoinCarry(k, results, before[k]);
    joined.insert(joined.end(), results.begin() + std::ssize(carries_.values), results.end());
    return joined;
  }
  // Adds the sums of hidden columns to the carry, and puts the visible columns between them.
  ValueId JoinCarry(size_t k, const std::vector<ValueId>& results, ValueId before) {
    const int dim = columns_.dim(p_.outputs[k]);
    const Loc loc = loop_.loc;
    absl::InlinedVector<ValueId, 3> pieces;
    const auto add_visible = [&] { pieces.push_back(results[k]); };
    if (hidden_.empty() || hidden_[0].columns.begin > 0) add_visible();
    for (HiddenColumns& hidden : hidden_) {
      const auto [begin, end] = hidden.columns;
      const ValueId columns = out_.Slice(before, dim, begin, end, loc);
      const auto at = absl::c_find(carries_.values, hidden.sums.at(static_cast<int64_t>(k)));
      const ValueId sum = results[static_cast<size_t>(at - carries_.values.begin())];
      const ir::Type* place = out_.Place(columns);
      pieces.push_back(out_.Apply(ScalarOp::kAdd,
                                  {columns, BroadcastOperand(out_, sum, place, loc)}, place, loc));
      if (begin == 0) add_visible();
    }
    if (pieces.size() == 1) return pieces[0];
    ops::DimParams along;
    along.dim.push_back(dim);
    return out_.Emit(ops::kConcatenate, ir::MakeParams(along), pieces, out_.Place(before), loc);
  }

  // Inputs of the new body, and the operands of the new loop for them.
  struct Inputs {
    std::vector<ValueId> values = {}, operands = {};
    void Add(ValueId value, ValueId operand) {
      values.push_back(value);
      operands.push_back(operand);
    }
  };

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
  Inputs constants_, carries_, slices_;
};

}  // namespace

std::optional<std::vector<ValueId>> AddPart(Writer& out, const Instruction& loop,
                                            const LoopColumns& columns, const LoopPart& part,
                                            const ValueBounds& bounds,
                                            const std::vector<ValueId>& carries) {
  return PartBuilder(out, loop, columns, part, bounds).Build(carries);
}

}  // namespace tessera::spmd

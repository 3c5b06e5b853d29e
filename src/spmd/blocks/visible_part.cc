// Copies the body for the visible columns, and adds the share of hidden ones to each reduction.
#include "spmd/blocks/visible_part.h"

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <utility>

#include "ir/control_params.h"
#include "ir/uses.h"
#include "spmd/blocks/hidden_columns.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using plan::ScalarOp;

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
        visible_(p_.values.size(), kNoValue),
        at_{out_, in_, loop, columns, bounds, visible_, constants_} {
    body_.mesh = p_.mesh;
    body_.per_device = true;
    for (Columns side :
         {Columns{0, part.visible.begin}, Columns{part.visible.end, columns.count()}})
      if (side.count() > 0) hidden_.push_back({.side = {at_, side}});
  }

  std::optional<std::vector<ValueId>> Build(const std::vector<ValueId>& carries) {
    for (size_t k = 0; k < p_.inputs.size(); ++k) AddInput(k, carries);
    for (const Instruction& i : p_.instructions)
      if (!Copy(i)) return {};
    if (!AddOutputs()) return {};
    return JoinCarries(AddLoop(), carries);
  }

 private:
  // One side, and of each carry with columns its sum over the iterations in one hidden column.
  struct Hidden {
    HiddenColumns side;
    absl::flat_hash_map<int64_t, ValueId> sums = {};
  };

  // Returns the value of the new body that stands for v. It has the visible columns of v, or is the
  // same as v if v has no columns.
  ValueId VisibleOf(ValueId v) const { return visible_[v]; }

  // ---- inputs of the body ----

  void AddInput(size_t k, const std::vector<ValueId>& carries) {
    const ValueId v = p_.inputs[k];
    const auto constants = base::Size(params_.constants), carried = base::Size(params_.carries);
    visible_[v] = in_.AddValue(at_.PlaceOf(v, part_.visible.count()), loop_.loc);
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
    return in_.Emit(*i.op, i.params, operands, at_.PlaceOf(i.results[0], part_.visible.count()),
                    i.loc, at_.CostOf(i, part_.visible.count()));
  }
  // Reduces the visible columns, and combines the result with the result of the hidden ones.
  bool CopyReduction(const Instruction& i) {
    const auto* reduces = std::get_if<ir::AsReduction>(&*i.op->lowering);
    const bool sums = !reduces || reduces->reduction == Reduction::kSum;
    // Integers have no mean, and their dtype may not hold the number of columns.
    if (sums && !p_.type(i.results[0])->dtype().is_floating()) return false;
    ValueId all = CopyVisible(i);
    const DType dtype = in_.Place(all)->dtype();
    for (Hidden& one : hidden_) {
      HiddenColumns& hidden = one.side;
      std::optional<ValueId> row = reduces ? hidden.Reduced(i, sums) : hidden.Product(i);
      if (!row) return false;
      if (sums) {
        *row = Widened(in_, *row, loop_.loc);
        const ir::Type* place = in_.Place(*row);
        const auto count = static_cast<double>(hidden.columns().count());
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

  // ---- the loop ----

  // Adds the body's outputs: carries, the sums of their hidden columns, and stacked values. Returns
  // false if hidden columns of a carry may differ.
  bool AddOutputs() {
    for (int64_t k = 0; k < params_.carries; ++k)
      body_.outputs.push_back(VisibleOf(base::At(p_.outputs, k)));
    for (Hidden& hidden : hidden_)
      for (int64_t k = 0; k < params_.carries; ++k)
        if (columns_.HasColumns(base::At(p_.outputs, k)) && !AddSumOfHidden(hidden, k))
          return false;
    for (size_t k = base::Size(params_.carries); k < p_.outputs.size(); ++k)
      body_.outputs.push_back(VisibleOf(p_.outputs[k]));
    return true;
  }
  // Adds a carry with one column, to which each iteration adds a hidden column.
  bool AddSumOfHidden(Hidden& hidden, int64_t k) {
    const ValueId added = *columns_.AddedTo(k);
    const std::optional<ValueId> column = hidden.side.Column(added);
    if (!column) return false;
    const ir::Type* place = at_.PlaceOf(added, 1);
    const ValueId sum = in_.AddValue(place, loop_.loc);
    hidden.sums[k] = sum;
    carries_.Add(sum, out_.Zeros(place, loop_.loc));
    body_.outputs.push_back(in_.Apply(ScalarOp::kAdd, {sum, *column}, place, loop_.loc));
    return true;
  }

  // Returns the results of the new loop.
  std::vector<ValueId> AddLoop() {
    std::vector<ValueId> operands, results;
    for (const LoopInputs* inputs : {&constants_, &carries_, &slices_}) {
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
    if (hidden_.empty() || hidden_[0].side.columns().begin > 0) add_visible();
    for (const Hidden& hidden : hidden_) {
      const auto [begin, end] = hidden.side.columns();
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

  ir::Program body_;  // of the new loop
  Writer &out_, in_;  // outside of the new loop, and in its body
  const Instruction& loop_;
  const ir::ScanParams& params_;
  const LoopColumns& columns_;
  const ir::Program& p_;  // the body of `loop_`
  const LoopPart part_;
  base::IdVector<ValueId, ValueId> visible_;
  LoopInputs constants_, carries_, slices_;
  const PartBody at_;
  std::vector<Hidden> hidden_;
};

}  // namespace

std::optional<std::vector<ValueId>> AddPart(Writer& out, const Instruction& loop,
                                            const LoopColumns& columns, const LoopPart& part,
                                            const ValueBounds& bounds,
                                            const std::vector<ValueId>& carries) {
  return PartBuilder(out, loop, columns, part, bounds).Build(carries);
}

}  // namespace tessera::spmd

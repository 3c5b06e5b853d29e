// The body of a part: its columns, and for each side that is hidden one that stands for all.
#include "spmd/blocks/visible_part.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/at.h"
#include "ir/control_params.h"
#include "ir/uses.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using plan::ScalarOp;

// The loop over one part.
class PartBuilder {
 public:
  PartBuilder(Writer& out, const Instruction& loop, const LoopColumns& from, const LoopPart& part,
              const ValueBounds& bounds)
      : out_(out),
        in_(made_),
        loop_(loop),
        params_(ir::As<ir::ScanParams>(loop.params.get())),
        from_(from),
        p_(from.body()),
        part_(part),
        bounds_(bounds),
        live_(p_.values.size(), -1) {
    made_.mesh = p_.mesh;
    made_.per_device = true;
    for (Columns side : {Columns{0, part.needed.begin}, Columns{part.needed.end, from.count()}})
      if (side.count() > 0) hidden_.push_back({.columns = side});
  }

  // Adds the loop. `carries`: what the part before left. Returns its results, fewer slices of what
  // it stacks; none: what is hidden is needed.
  std::optional<std::vector<ValueId>> Build(const std::vector<ValueId>& carries) {
    for (size_t k = 0; k < p_.inputs.size(); ++k) Input(k, carries);
    for (const Instruction& i : p_.instructions)
      if (!Clone(i)) return {};
    for (ValueId v : p_.outputs) made_.outputs.push_back(Live(v));
    return Emit();
  }

 private:
  struct Hidden {
    Columns columns;
    absl::flat_hash_map<ValueId, std::optional<ValueId>> made = {};  // with one column
    absl::flat_hash_map<ValueId, ValueId> means = {};                // of inputs' columns
  };

  ValueId Live(ValueId v) const { return base::At(live_, v); }
  const ir::Type* Place(ValueId v, int64_t columns) const {
    return from_.Has(v) ? WithSize(p_.place(v), from_.dim(v), columns) : p_.place(v);
  }

  // ---- what enters -----------------------------------------------------------------------------

  void Input(size_t k, const std::vector<ValueId>& carries) {
    const ValueId v = p_.inputs[k];
    ValueId outside = loop_.operands[k];
    const auto constants = base::Size(params_.constants), carried = base::Size(params_.carries);
    if (k < constants) {
      if (from_.Has(v)) outside = Needed(out_, outside, v, 0);
    } else if (k < constants + carried) {
      outside = carries[k - constants];
    } else {
      outside = out_.Slice(outside, 0, part_.begin, part_.end, loop_.loc);
      if (from_.Has(v)) outside = Needed(out_, outside, v, 1);
    }
    (k < constants ? constants_ : varying_).push_back(outside);
    base::At(live_, v) = in_.Value(Place(v, part_.needed.count()), loop_.loc);
    (k < constants ? made_.inputs : varying_inputs_).push_back(Live(v));
  }
  ValueId Needed(Writer& at, ValueId value, ValueId v, int before) {
    return at.Slice(value, from_.dim(v) + before, part_.needed.begin, part_.needed.end, loop_.loc);
  }

  // The mean of the hidden columns of a value that is the same in all iterations, made before the
  // loop. Divided first: a sum of what is large may be infinite.
  std::optional<ValueId> Mean(Hidden& hidden, ValueId v) {
    const auto input = std::find(p_.inputs.begin(), p_.inputs.end(), v);
    const auto k = static_cast<size_t>(input - p_.inputs.begin());
    if (k >= base::Size(params_.constants) || !p_.type(v)->dtype().is_floating()) return {};
    if (const auto it = hidden.means.find(v); it != hidden.means.end()) return it->second;
    const Loc loc = loop_.loc;
    const int dim = from_.dim(v);
    const ValueId cut = Widened(
        out_, out_.Slice(loop_.operands[k], dim, hidden.columns.begin, hidden.columns.end, loc));
    const ir::Type* place = out_.Place(cut);
    const ValueId part = out_.Apply(
        ScalarOp::kMul,
        {cut, out_.Number(1.0 / static_cast<double>(hidden.columns.count()), place, loc)}, place,
        loc);
    ops::DimsParams over;
    over.dims.push_back(dim);
    const ir::Type* one = WithSize(place, dim, 1);
    const auto flops = static_cast<double>(LocalType(place)->elements());
    const ValueId sum =
        out_.Emit(ops::kReduceSum, ir::MakeParams(over), {part}, WithoutDim(place, dim), loc,
                  {.flops = flops, .whole_flops = flops});
    constants_.push_back(out_.Reshape(sum, one, loc));
    const ValueId mean = in_.Value(one, loc);
    made_.inputs.push_back(mean);
    return hidden.means[v] = mean;
  }
  // Of what is summed over the dim on each device.
  static const ir::Type* WithoutDim(const ir::Type* place, int dim) {
    base::Shape shape = place->shape();
    shape.erase(shape.begin() + dim);
    sharding::TensorSharding s = place->sharding();
    const sharding::AxisList& axes = base::At(s.dims, dim).axes;
    s.unreduced.insert(s.unreduced.end(), axes.begin(), axes.end());
    s.dims.erase(s.dims.begin() + dim);
    return ir::Type::Get(std::move(shape), place->dtype(), std::move(s));
  }
  // Small floats are added up in f32.
  ValueId Widened(Writer& at, ValueId v) const {
    const DType dtype = at.Place(v)->dtype();
    return dtype.is_floating() && dtype.size() < 4 ? at.Convert(v, f32, loop_.loc) : v;
  }

  // ---- the body --------------------------------------------------------------------------------

  bool Clone(const Instruction& i) {
    if (i.results.size() == 1 && from_.Reduces(i)) return CloneReduction(i);
    if (!from_.Touches(i)) {
      CloneAsItIs(i);
    } else {
      base::At(live_, i.results[0]) = CloneLive(i);
    }
    return true;
  }
  void CloneAsItIs(const Instruction& i) {
    Instruction next = i;
    for (ValueId& v : next.operands) v = Live(v);
    for (ValueId& v : next.results) {
      const ValueId now = in_.Value(p_.place(v), i.loc);
      base::At(live_, v) = now;
      v = now;
    }
    made_.instructions.push_back(std::move(next));
  }
  ValueId CloneLive(const Instruction& i) {
    absl::InlinedVector<ValueId, 3> operands;
    for (ValueId v : i.operands) operands.push_back(Live(v));
    return in_.Emit(*i.op, i.params, operands, Place(i.results[0], part_.needed.count()), i.loc,
                    CostOf(i, part_.needed.count()));
  }
  ir::Cost CostOf(const Instruction& i, int64_t columns) const {
    ir::Cost cost = *i.cost;
    const double share = static_cast<double>(columns) / static_cast<double>(from_.count());
    cost.flops *= share;
    cost.whole_flops *= share;
    return cost;
  }

  // The columns that are needed, and for each side that is hidden what as many equal ones give.
  bool CloneReduction(const Instruction& i) {
    const auto* reduces = std::get_if<ir::AsReduction>(&*i.op->lowering);
    const bool sums = !reduces || reduces->reduction == Reduction::kSum;
    // Whole numbers have no mean, and may have no number as large as the count.
    if (sums && !p_.type(i.results[0])->dtype().is_floating()) return false;
    ValueId all = CloneLive(i);
    const DType dtype = in_.Place(all)->dtype();
    for (Hidden& hidden : hidden_) {
      std::optional<ValueId> one = reduces ? OneReduced(hidden, i) : OneContracted(hidden, i);
      if (!one) return false;
      if (sums) {
        *one = Widened(in_, *one);
        const ir::Type* place = in_.Place(*one);
        const auto count = static_cast<double>(hidden.columns.count());
        *one = in_.Apply(ScalarOp::kMul, {*one, in_.Number(count, place, i.loc)}, place, i.loc);
        all = in_.Convert(all, place->dtype(), i.loc);
      }
      const ScalarOp op = sums                                    ? ScalarOp::kAdd
                          : reduces->reduction == Reduction::kMax ? ScalarOp::kMax
                                                                  : ScalarOp::kMin;
      all = in_.Apply(op, {all, *one}, in_.Place(all), i.loc);
    }
    base::At(live_, i.results[0]) = in_.Convert(all, dtype, i.loc);
    return true;
  }
  std::optional<ValueId> OneReduced(Hidden& hidden, const Instruction& i) {
    const std::optional<ValueId> one = One(hidden, i.operands[0]);
    if (!one) return {};
    const ir::Type* place = p_.place(i.results[0]);
    if (p_.type(i.operands[0])->rank() == p_.type(i.results[0])->rank() + 1)
      return in_.Reshape(*one, place, i.loc);
    return in_.Emit(*i.op, i.params, {*one}, place, i.loc, CostOf(i, 1));
  }
  // A product whose one side is alike in all hidden columns is one with the mean of the other.
  std::optional<ValueId> OneContracted(Hidden& hidden, const Instruction& i) {
    absl::InlinedVector<ValueId, 2> sides;
    int means = 0;
    for (ValueId v : i.operands) {
      std::optional<ValueId> side = One(hidden, v);
      if (!side && means++ == 0) side = Mean(hidden, v);
      if (!side) return {};
      sides.push_back(Widened(in_, *side));
    }
    const ir::Type* place = p_.place(i.results[0]);
    if (place->dtype().is_floating() && place->dtype().size() < 4) place = place->WithDType(f32);
    return in_.Emit(*i.op, i.params, sides, place, i.loc, CostOf(i, 1));
  }

  // ---- one hidden column -----------------------------------------------------------------------

  // Returns v with one column that is as each of the hidden ones; none: they differ.
  std::optional<ValueId> One(Hidden& hidden, ValueId v) {
    if (!from_.Has(v)) return Live(v);
    if (const auto it = hidden.made.find(v); it != hidden.made.end()) return it->second;
    const Instruction* made = from_.Maker(v);
    const std::optional<ValueId> one = made ? MakeOne(hidden, *made) : std::nullopt;
    hidden.made.insert_or_assign(v, one);
    return one;
  }
  std::optional<ValueId> MakeOne(Hidden& hidden, const Instruction& i) {
    const ir::Type* place = Place(i.results[0], 1);
    const ScalarOp* op = ByElement(i);
    if (const auto state = from_.State(i.results[0], bounds_, hidden.columns))
      return in_.Repeated(in_.Number(*state ? 1 : 0, place, i.loc), place, i.loc);
    if (op && *op == ScalarOp::kSelect) {
      const auto state = from_.State(i.operands[0], bounds_, hidden.columns);
      if (!state) return {};
      const ValueId chosen = i.operands[*state ? 2 : 1];
      const std::optional<ValueId> one = One(hidden, chosen);
      return one ? std::optional(Spread(*one, place, i.loc)) : one;
    }
    if (!op && i.op != &ops::kBroadcastInDim &&
        !std::holds_alternative<ir::AsView>(*i.op->lowering))
      return {};
    absl::InlinedVector<ValueId, 3> operands;
    for (ValueId v : i.operands) {
      const std::optional<ValueId> one = One(hidden, v);
      if (!one) return {};
      operands.push_back(*one);
    }
    return in_.Emit(*i.op, i.params, operands, place, i.loc, CostOf(i, 1));
  }
  // Of an elementwise op's operand, which may be a scalar or have ones.
  ValueId Spread(ValueId v, const ir::Type* place, Loc loc) {
    if (in_.Place(v)->rank() != place->rank()) return in_.Repeated(v, place, loc);
    if (LocalType(in_.Place(v))->shape() == LocalType(place)->shape()) return v;
    ops::BroadcastParams all;
    for (int64_t d = 0; d < place->rank(); ++d) all.dims.push_back(d);
    return in_.Emit(ops::kBroadcastInDim, ir::MakeParams(all), {v}, place, loc);
  }

  // ---- the loop --------------------------------------------------------------------------------

  std::vector<ValueId> Emit() {
    const auto constants = static_cast<int64_t>(made_.inputs.size());
    made_.inputs.insert(made_.inputs.end(), varying_inputs_.begin(), varying_inputs_.end());
    ir::RemoveInstructions(made_);
    std::vector<ValueId> operands = constants_, results;
    operands.insert(operands.end(), varying_.begin(), varying_.end());
    for (size_t k = 0; k < loop_.results.size(); ++k) {
      const ir::Type* place = out_.Place(loop_.results[k]);
      if (k >= base::Size(params_.carries)) place = WithSize(place, 0, part_.end - part_.begin);
      results.push_back(out_.Value(place, loop_.loc));
    }
    const ir::ScanParams params{
        .constants = constants, .carries = params_.carries, .length = part_.end - part_.begin};
    out_.program().instructions.push_back(
        {.op = loop_.op,
         .params = ir::MakeParams(params),
         .operands = {operands.begin(), operands.end()},
         .results = {results.begin(), results.end()},
         .loc = loop_.loc,
         .regions = {std::make_shared<const ir::Program>(std::move(made_))},
         .cost = loop_.cost});
    return results;
  }

  ir::Program made_;
  Writer &out_, in_;
  const Instruction& loop_;
  const ir::ScanParams& params_;
  const LoopColumns& from_;
  const ir::Program& p_;
  const LoopPart part_;
  const ValueBounds& bounds_;  // of the body's values in these iterations
  std::vector<Hidden> hidden_;
  std::vector<ValueId> live_;  // per value of the body: with the needed columns
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

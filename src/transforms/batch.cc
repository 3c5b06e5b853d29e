// vmap. Each instruction is copied. Values that depend on mapped inputs have the mapped dim as
// their first dim.
#include "transforms/batch.h"

#include <absl/algorithm/container.h>
#include <absl/functional/function_ref.h>

#include "base/at.h"
#include "base/ids.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/inline.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ir/verify.h"
#include "ops/batching.h"
#include "ops/expression.h"
#include "ops/tangents.h"
#include "transforms/memo.h"
#include "transforms/regions.h"
#include "transforms/taken.h"
#include "transforms/types.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;
using Flags = std::vector<bool>;

bool Any(const Flags& flags) { return absl::c_linear_search(flags, true); }

// Whether k is the greatest index of this dtype.
bool IsMost(DType dtype, size_t k) {
  const int bits = dtype.bits() - dtype.is_signed();
  return !dtype.is_bool() && bits < 32 && k >= (size_t{1} << bits) - 1;
}

// Returns the condition of a loop over all lanes. `runs` has a bool per lane as its result.
ir::Program WhileAnyLaneRuns(ir::Program runs, Loc loc) {
  ir::Builder builder(runs, loc);
  runs.outputs = {ops::AnyLane(builder, runs.outputs[0])};
  return runs;
}

Flags FlagsOf(const base::IdVector<ValueId, bool>& flags, absl::Span<const ValueId> values) {
  Flags of_values;
  for (ValueId v : values) of_values.push_back(flags[v]);
  return of_values;
}

// ---- rules of the user: calls whose regions have roles ----

// Which operands, results and residuals have the mapped dim.
struct MappedRoles {
  std::vector<bool>::reference At(const ir::RegionRole& role) {
    Flags& flags = role.kind == ir::RegionRole::kOperand  ? operands
                   : role.kind == ir::RegionRole::kResult ? results
                                                          : residuals;
    const auto k = base::Size(role.index);
    if (k >= flags.size()) flags.resize(k + 1);
    return flags[k];
  }
  Flags Of(const std::vector<ir::RegionRole>& roles) {
    Flags flags;
    for (const ir::RegionRole& role : roles) flags.push_back(At(role));
    return flags;
  }
  Flags operands, results, residuals;
};

bool AreBackward(const std::vector<ir::RegionRoles>& regions) {
  return absl::c_any_of(regions, [](const ir::RegionRoles& r) {
    return absl::c_any_of(r.inputs, [](const ir::RegionRole& role) { return role.cotangent; });
  });
}

using BatchRegion = absl::FunctionRef<const Batch&(const ir::Program& region, const Flags& inputs,
                                                   const Flags& wanted)>;

// Spreads the flags of the operands through the regions to results and residuals.
MappedRoles SpreadRoles(const ir::Instruction& i, const std::vector<ir::RegionRoles>& regions,
                        const Flags& operands, BatchRegion batch) {
  MappedRoles mapped{operands, Flags(i.results.size()), {}};
  // A cotangent may differ by lane even if its result does not.
  if (AreBackward(regions) && Any(operands)) mapped.results.assign(i.results.size(), true);
  bool gives_results = false, grew = true;
  while (grew) {
    grew = false;
    for (size_t r = 0; r < regions.size(); ++r) {
      const Flags wanted(regions[r].outputs.size());
      const Flags outs = batch(*i.regions[r], mapped.Of(regions[r].inputs), wanted).mapped;
      for (size_t o = 0; o < outs.size(); ++o) {
        const ir::RegionRole& role = regions[r].outputs[o];
        if (role.kind == ir::RegionRole::kOperand && role.cotangent) continue;
        gives_results = gives_results || role.kind != ir::RegionRole::kOperand;
        if (outs[o] && !mapped.At(role)) mapped.At(role) = grew = true;
      }
    }
  }
  if (!gives_results) mapped.results.assign(i.results.size(), true);
  return mapped;
}

// Returns the region of a rule with the mapped dim. The cotangent of a value that lanes share is
// the sum over the lanes.
ir::Program MappedRule(const ir::Program& region, const ir::RegionRoles& ends, MappedRoles& mapped,
                       BatchRegion batch) {
  const Flags wanted = mapped.Of(ends.outputs);
  const Batch& made = batch(region, mapped.Of(ends.inputs), wanted);
  ir::Program program = made.program;
  ir::Builder builder(program, Loc::Unknown());
  for (size_t o = 0; o < wanted.size(); ++o)
    if (made.mapped[o] && !wanted[o])
      program.outputs[o] =
          ops::SumOfLanes(builder, program.outputs[o], region.type(region.outputs[o]));
  return program;
}

class Mapper {
 public:
  using Memo = RegionMemo<Batch>;
  // `taken`: null, or the type of one more first input: a bool per lane, whether the lane takes the
  // branch that holds the program.
  Mapper(const ir::Program& from, const Flags& inputs, const ir::MappedDim& dim, Memo& memo,
         const ir::Type* taken = nullptr)
      : from_(from),
        dim_(dim),
        memo_(memo),
        builder_(to_, Loc::Unknown()),
        taken_(builder_, dim, taken ? to_.AddValue(taken, Loc::Unknown()) : kNoValue),
        made_(from.values.size(), kNoValue),
        mapped_(from.values.size()),
        active_(from.values.size()) {
    to_.mesh = from.mesh;
    if (taken) to_.inputs.push_back(taken_.lanes());
    for (size_t i = 0; i < from.inputs.size(); ++i)
      to_.inputs.push_back(Parameter(from.inputs[i], inputs[i]));
    for (const ir::Capture& c : from.captures)
      to_.captures.push_back({Parameter(c.value, false), c.array});
  }

  Batch Run(const Flags& wanted) {
    for (const ir::Instruction& i : from_.instructions) Visit(i);
    for (const auto& [name, v] : from_.names) to_.names.emplace_back(name, made_[v]);
    Batch out;
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      const ValueId v = from_.outputs[i];
      out.mapped.push_back(mapped_[v] || wanted[i]);
      builder_.set_loc(from_.values[v].loc);
      to_.outputs.push_back(out.mapped.back() ? WithDim(v) : made_[v]);
    }
    ir::Simplify(to_);
    out.program = std::move(to_);
    return out;
  }

 private:
  ValueId Parameter(ValueId v, bool mapped) {
    const ir::Value& value = from_.values[v];
    mapped_[v] = mapped;
    active_[v] = ops::HasTangent(value.type);
    const ir::Type* type = mapped ? ops::WithDim(value.type, dim_) : value.type;
    return made_[v] = to_.AddValue(type, value.loc, mapped ? nullptr : value.place);
  }
  void Set(ValueId v, ValueId made, bool mapped) {
    made_[v] = made;
    mapped_[v] = mapped;
  }
  ValueId WithDim(ValueId v) {
    if (mapped_[v]) return made_[v];
    const ValueId repeated = ops::Repeated(builder_, made_[v], dim_);
    return active_[v] ? taken_.Counted(repeated) : repeated;
  }
  Flags MappedOf(absl::Span<const ValueId> values) const { return FlagsOf(mapped_, values); }

  void Visit(const ir::Instruction& i) {
    builder_.set_loc(i.loc);
    const TypesOf types(from_, i);
    const Flags active = FlagsOf(active_, i.operands);
    for (ValueId v : i.results) active_[v] = Any(active) && ops::HasTangent(from_.type(v));
    Taken::BranchCall given{i, types.operands, types.results, active, {}, MappedOf(i.operands)};
    for (ValueId v : i.operands) given.operands.push_back(made_[v]);
    if (!Any(given.mapped) && !MeetsLanes(i, types)) {
      if (!taken_.IsAll()) taken_.CountShared(given);
      auto results = builder_.EmitTyped(*i.op, i.params, given.operands, types.results, i.regions);
      for (size_t r = 0; r < results.size(); ++r) Set(i.results[r], results[r], false);
      return;
    }
    if (!i.regions.empty()) return VisitRegions(i, given);
    if (!taken_.IsAll()) taken_.CountMixed(given);
    const auto results = ops::Batched({builder_, *i.op, i.params, given.operands, given.mapped,
                                       types.operands, types.results, dim_});
    for (size_t r = 0; r < results.size(); ++r)
      Set(i.results[r], given.counts_results ? taken_.Counted(results[r]) : results[r], true);
  }

  // Whether an operand is reduced over the axes of the dim and the results are not. All lanes share
  // the operand, but each lane needs its own result.
  bool MeetsLanes(const ir::Instruction& i, const TypesOf& types) const {
    const auto is_reduced = [&](const ir::Type* type) {
      const sharding::AxisList& reduced = type->sharding().reduced;
      return sharding::Difference(reduced, dim_.axes) != reduced;
    };
    if (absl::c_none_of(types.operands, is_reduced)) return false;
    if (!i.regions.empty()) return !i.op->roles;
    return std::holds_alternative<ir::DimMapFn>(*i.op->dims) &&
           absl::c_none_of(types.results, is_reduced) &&
           !ir::DimMapOf(*i.op, i.params.get(), types.operands, types.results).traits.product;
  }

  // ---- loops and branches ----

  // Returns the region with the dim on these inputs and at least on these outputs.
  const Batch& Region(const ir::Program& region, const Flags& inputs, const Flags& wanted,
                      const ir::Type* taken = nullptr) {
    return memo_.Get(
        region, inputs, wanted,
        [&] { return Mapper(region, inputs, dim_, memo_, taken).Run(wanted); }, taken);
  }
  // Returns the region as a part of this program. If some lanes do not take the branch around it,
  // the lanes that do are its first input.
  const Batch& Part(const ir::Program& region, const Flags& inputs, const Flags& wanted) {
    const ValueId lanes = taken_.lanes();
    return Region(region, inputs, wanted, taken_.IsAll() ? nullptr : builder_.type(lanes));
  }
  size_t LaneInputs() const { return taken_.IsAll() ? 0 : 1; }

  void VisitRegions(const ir::Instruction& i, Taken::BranchCall& given) {
    if (i.op->roles) {
      if (!taken_.IsAll()) taken_.GiveToLanes(given);
      return VisitRules(i, given);
    }
    const RegionLayout layout(i);
    if (layout.first > 0 && given.mapped[0]) return Select(i);
    Flags ins(given.mapped.begin() + static_cast<long>(layout.first), given.mapped.end());
    if (layout.kind == ir::AsRegions::kWhile) return VisitWhile(i, layout, std::move(ins));
    const RegionFlags mapped = MappedIn(i, std::move(ins));
    std::vector<ir::Program> regions;
    for (const ir::RegionPtr& region : i.regions)
      regions.push_back(Part(*region, mapped.ins, mapped.outs).program);
    Emit(i, layout, mapped, std::move(regions));
  }

  RegionFlags MappedIn(const ir::Instruction& i, Flags ins) {
    return SpreadFlags(i, std::move(ins),
                       [&](const ir::Program& body, const Flags& in, const Flags& wanted) {
                         return Part(body, in, wanted).mapped;
                       });
  }

  // Emits an instruction whose regions all lanes run together. Slices of a scan keep the iterations
  // in front: the mapped dim of xs and ys comes second.
  void Emit(const ir::Instruction& i, const RegionLayout& layout, const RegionFlags& mapped,
            std::vector<ir::Program> regions) {
    std::vector<ValueId> operands = OperandsOf(i, layout.first, mapped.ins);
    for (size_t k = 0; k < operands.size(); ++k)
      if (mapped.ins[k] && layout.IsStacked(layout.InputGroup(k)))
        operands[k] =
            Exchanged(operands[k], ops::WithDim(from_.type(i.operands[layout.first + k]), dim_, 1));
    RegionEdit edit(i, std::move(regions));
    for (size_t k = 0; k < layout.first; ++k) edit.AddIndex(made_[i.operands[k]]);
    if (!taken_.IsAll()) edit.AddInput(RegionGroup::kConstants, taken_.lanes(), 0);
    for (size_t k = 0; k < operands.size(); ++k)
      edit.AddInput(layout.InputGroup(k), operands[k], LaneInputs() + k);
    const auto is_stacked = [&](size_t r) { return layout.IsStacked(layout.OutputGroup(r)); };
    for (size_t r = 0; r < i.results.size(); ++r) {
      const ir::Type* type = from_.type(i.results[r]);
      edit.AddOutput(layout.OutputGroup(r),
                     mapped.outs[r] ? ops::WithDim(type, dim_, is_stacked(r) ? 1 : 0) : type, r);
    }
    const std::vector<ValueId> results = std::move(edit).Emit(builder_);
    for (size_t r = 0; r < results.size(); ++r) {
      const ir::Type* type = from_.type(i.results[r]);
      const bool moves = mapped.outs[r] && is_stacked(r);
      Set(i.results[r], moves ? Exchanged(results[r], ops::WithDim(type, dim_)) : results[r],
          mapped.outs[r]);
    }
  }
  // Returns the operands of the regions. Operand k has the batch dim if ins[k] is true.
  std::vector<ValueId> OperandsOf(const ir::Instruction& i, size_t first, const Flags& ins) {
    std::vector<ValueId> operands;
    for (size_t k = 0; k < ins.size(); ++k) {
      const ValueId v = i.operands[first + k];
      operands.push_back(ins[k] ? WithDim(v) : made_[v]);
    }
    return operands;
  }
  // Returns `v` with its first two dims exchanged, as a value of the type.
  ValueId Exchanged(ValueId v, const ir::Type* type) { return ops::ToFront(builder_, v, 1, type); }

  // A while loop runs until all lanes are done. A lane that is done keeps its carries, and so does
  // a lane that does not take the branch around the loop.
  void VisitWhile(const ir::Instruction& i, const RegionLayout& layout, Flags ins) {
    RegionFlags mapped = MappedIn(i, std::move(ins));
    if (Part(*i.regions[0], mapped.ins, {false}).mapped[0]) {
      for (size_t c = 0; c < layout.carries; ++c) mapped.ins[layout.CarryInput(c)] = true;
      mapped = MappedIn(i, mapped.ins);
    }
    const Batch& condition = Part(*i.regions[0], mapped.ins, {false});
    std::vector<ir::Program> regions;
    if (condition.mapped[0]) {
      const ir::Program runs = WhereLanesRun(condition.program, i.loc);
      regions = {WhileAnyLaneRuns(runs, i.loc), BodyWhereLanesRun(i, runs, mapped, layout)};
    } else {
      regions = {condition.program, Part(*i.regions[1], mapped.ins, mapped.outs).program};
    }
    Emit(i, layout, mapped, std::move(regions));
  }
  // Returns the condition, whose result is true in the lanes that run the body.
  ir::Program WhereLanesRun(ir::Program condition, Loc loc) const {
    if (taken_.IsAll()) return condition;
    ir::Builder builder(condition, loc);
    condition.outputs[0] =
        ops::And(ops::X(builder, condition.inputs[0]), ops::X(builder, condition.outputs[0])).id();
    return condition;
  }
  // Returns the body as a branch that the lanes for which `runs` is true take.
  ir::Program BodyWhereLanesRun(const ir::Instruction& i, ir::Program runs,
                                const RegionFlags& mapped, const RegionLayout& layout) {
    ir::RemoveEffects(runs);
    ir::Builder builder(runs, i.loc);
    const ValueId lanes = runs.outputs[0];
    const std::vector<ValueId> inputs(runs.inputs.begin() + static_cast<long>(LaneInputs()),
                                      runs.inputs.end());
    runs.outputs =
        TakenBranch(Taken(builder, dim_, lanes), *i.regions[1], mapped.ins, mapped.outs, inputs);
    for (size_t c = 0; c < layout.carries; ++c)
      runs.outputs[c] = ops::ByLane(builder, lanes, runs.outputs[c], inputs[layout.CarryInput(c)]);
    return runs;
  }

  // A switch with an index per lane: all branches run, and each lane takes the results of its own.
  void Select(const ir::Instruction& i) {
    const Flags mapped = MappedOf(i.operands), ins(mapped.begin() + 1, mapped.end());
    const std::vector<ValueId> operands = OperandsOf(i, 1, ins);
    const ops::X index(builder_, made_[i.operands[0]]);
    size_t last = 0;
    while (last + 1 < i.regions.size() && !IsMost(index.type()->dtype(), last)) ++last;
    // A bool takes the first branch if it is true; other indices are clamped.
    std::vector<ValueId> chosen = Branch(i, last, last, ins, operands);
    for (size_t k = last; k-- > 0;) {
      const std::vector<ValueId> results = Branch(i, k, last, ins, operands);
      const bool is_bool = index.type()->dtype().is_bool();
      const ValueId above =
          is_bool ? index.id() : Less(index.Number(static_cast<double>(k)), index).id();
      for (size_t r = 0; r < chosen.size(); ++r)
        chosen[r] = is_bool ? ops::ByLane(builder_, above, results[r], chosen[r])
                            : ops::ByLane(builder_, above, chosen[r], results[r]);
    }
    for (size_t r = 0; r < chosen.size(); ++r) Set(i.results[r], chosen[r], true);
  }
  // Returns the results of branch k. Only lanes that take the branch have derivatives through it.
  std::vector<ValueId> Branch(const ir::Instruction& i, size_t k, size_t last, const Flags& ins,
                              const std::vector<ValueId>& operands) {
    const Flags all(i.results.size(), true);
    if (last > 0) {
      const ValueId lanes = taken_.And(LanesOfBranch(builder_, made_[i.operands[0]], k, last));
      return TakenBranch(Taken(builder_, dim_, lanes), *i.regions[k], ins, all, operands);
    }
    std::vector<ValueId> given = operands;
    if (!taken_.IsAll()) given.insert(given.begin(), taken_.lanes());
    return ir::Inline(builder_, Part(*i.regions[k], ins, all).program, given);
  }
  // Inlines a region that the lanes of `taken` take.
  std::vector<ValueId> TakenBranch(const Taken& taken, const ir::Program& region, const Flags& ins,
                                   const Flags& wanted, std::vector<ValueId> operands) {
    ir::Builder& builder = taken.builder();
    for (size_t n = 0; n < ins.size(); ++n)
      if (ins[n] && ops::HasTangent(builder.type(operands[n])))
        operands[n] = taken.Counted(operands[n]);
    operands.insert(operands.begin(), taken.lanes());
    const Batch& branch = Region(region, ins, wanted, builder.type(taken.lanes()));
    return ir::Inline(builder, branch.program, operands);
  }
  void VisitRules(const ir::Instruction& i, const Taken::BranchCall& given) {
    const TypesOf types(from_, i);
    const auto ends =
        i.op->roles({i.params.get(), i.operands.size(), i.regions}, types.operands, types.results);
    const auto batch = [&](const ir::Program& region, const Flags& inputs,
                           const Flags& wanted) -> const Batch& {
      return Region(region, inputs, wanted);
    };
    MappedRoles mapped = SpreadRoles(i, ends, given.mapped, batch);
    std::vector<ir::RegionPtr> regions;
    for (size_t r = 0; r < ends.size(); ++r)
      regions.push_back(ir::Shared(MappedRule(*i.regions[r], ends[r], mapped, batch)));
    std::vector<const ir::Type*> result_types;
    for (size_t r = 0; r < i.results.size(); ++r)
      result_types.push_back(mapped.results[r] ? ops::WithDim(types.results[r], dim_)
                                               : types.results[r]);
    // An operand that a region gives has the dim if the region's output has it.
    std::vector<ValueId> operands(given.operands.begin(), given.operands.end());
    for (size_t k = 0; k < operands.size(); ++k)
      if (k < mapped.operands.size() && mapped.operands[k] && !given.mapped[k])
        operands[k] = WithDim(i.operands[k]);
    const auto results =
        builder_.EmitTyped(*i.op, i.params, operands, result_types, std::move(regions));
    for (size_t r = 0; r < results.size(); ++r) Set(i.results[r], results[r], mapped.results[r]);
  }

  const ir::Program& from_;
  const ir::MappedDim& dim_;
  Memo& memo_;
  ir::Program to_;
  ir::Builder builder_;
  const Taken taken_;
  base::IdVector<ValueId, ValueId> made_;  // values of `to_`, by value of `from_`
  base::IdVector<ValueId, bool> mapped_;   // has the dim
  base::IdVector<ValueId, bool> active_;   // may have a derivative
};

}  // namespace

Batch MakeBatch(const ir::Program& program, const Flags& inputs, const Flags& wanted,
                const ir::MappedDim& dim) {
  Mapper::Memo memo;
  Batch made = Mapper(program, inputs, dim, memo).Run(wanted);
  ir::VerifyAfter("batch", made.program);
  return made;
}

}  // namespace tessera::transforms

// Mapping. Each instruction is copied, with the dim in front of what depends on mapped inputs.
#include "transforms/batch.h"

#include <algorithm>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/inline.h"
#include "ir/regions.h"
#include "ir/simplify.h"
#include "ir/uses.h"
#include "ops/expression.h"
#include "ops/mapped.h"
#include "ops/tangents.h"
#include "transforms/memo.h"
#include "transforms/regions.h"
#include "transforms/taken.h"
#include "transforms/types.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;
using Flags = std::vector<bool>;

size_t Index(ValueId v) { return base::Size(v); }
bool Any(const Flags& flags) { return std::find(flags.begin(), flags.end(), true) != flags.end(); }

class Mapper {
 public:
  using Memo = RegionMemo<Batch>;
  // `taken`: null, or the type of one more input in front, which says of each lane whether it takes
  // the branch that this is a part of.
  Mapper(const ir::Program& from, const Flags& inputs, const ir::MappedDim& dim, Memo& memo,
         const ir::Type* taken = nullptr)
      : from_(from),
        dim_(dim),
        memo_(memo),
        builder_(to_, Loc::Unknown()),
        taken_(builder_, dim, taken ? to_.AddValue(taken, Loc::Unknown()) : -1),
        made_(from.values.size(), -1),
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
    for (const auto& [name, v] : from_.names) to_.names.emplace_back(name, made_[Index(v)]);
    Batch out;
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      const ValueId v = from_.outputs[i];
      out.mapped.push_back(mapped_[Index(v)] || wanted[i]);
      builder_.set_loc(from_.values[Index(v)].loc);
      to_.outputs.push_back(out.mapped.back() ? WithDim(v) : made_[Index(v)]);
    }
    ir::Simplify(to_);
    out.program = std::move(to_);
    return out;
  }

 private:
  ValueId Parameter(ValueId v, bool mapped) {
    const ir::Value& value = from_.values[Index(v)];
    mapped_[Index(v)] = mapped;
    active_[Index(v)] = ops::HasTangent(value.type);
    const ir::Type* type = mapped ? ops::WithDim(value.type, dim_) : value.type;
    return made_[Index(v)] = to_.AddValue(type, value.loc, mapped ? nullptr : value.place);
  }
  void Set(ValueId v, ValueId made, bool mapped) {
    made_[Index(v)] = made;
    mapped_[Index(v)] = mapped;
  }
  ValueId WithDim(ValueId v) {
    if (mapped_[Index(v)]) return made_[Index(v)];
    const ValueId repeated = ops::Repeated(builder_, made_[Index(v)], dim_);
    return active_[Index(v)] ? taken_.Counted(repeated) : repeated;
  }
  static Flags Of(const Flags& flags, absl::Span<const ValueId> values) {
    Flags of;
    for (ValueId v : values) of.push_back(flags[Index(v)]);
    return of;
  }
  Flags MappedOf(absl::Span<const ValueId> values) const { return Of(mapped_, values); }

  void Visit(const ir::Instruction& i) {
    builder_.set_loc(i.loc);
    const TypesOf types(from_, i);
    const Flags active = Of(active_, i.operands);
    for (ValueId v : i.results) active_[Index(v)] = Any(active) && ops::HasTangent(from_.type(v));
    Taken::BranchCall given{i, types.operands, types.results, active, {}, MappedOf(i.operands)};
    for (ValueId v : i.operands) given.operands.push_back(made_[Index(v)]);
    if (!Any(given.mapped) && !MeetsLanes(i, types)) {
      if (!taken_.IsAll()) taken_.Shared(given);
      auto results = builder_.EmitTyped(*i.op, i.params, given.operands, types.results, i.regions);
      for (size_t r = 0; r < results.size(); ++r) Set(i.results[r], results[r], false);
      return;
    }
    if (!i.regions.empty()) return VisitRegions(i, given);
    if (!taken_.IsAll()) taken_.Mixed(given);
    const auto results = ops::Batched({builder_, *i.op, i.params, given.operands, given.mapped,
                                       types.operands, types.results, dim_});
    for (size_t r = 0; r < results.size(); ++r)
      Set(i.results[r], given.counts_results ? taken_.Counted(results[r]) : results[r], true);
  }

  // Whether what all lanes share, reduced over the axes of the dim, is used as beside a lane: the
  // result is then no longer reduced, so it is one of each lane.
  bool MeetsLanes(const ir::Instruction& i, const TypesOf& types) const {
    const auto is_reduced = [&](const ir::Type* type) {
      const sharding::AxisList& reduced = type->sharding().reduced;
      return sharding::Difference(reduced, dim_.axes) != reduced;
    };
    if (std::none_of(types.operands.begin(), types.operands.end(), is_reduced)) return false;
    if (!i.regions.empty()) return !i.op->roles;
    return std::holds_alternative<ir::DimMapFn>(*i.op->dims) &&
           std::none_of(types.results.begin(), types.results.end(), is_reduced) &&
           !ir::DimMapOf(*i.op, i.params.get(), types.operands, types.results).traits.product;
  }

  // ---- loops and branches ----

  // The region with these inputs mapped, and at least these outputs.
  const Batch& Region(const ir::Program& region, const Flags& inputs, const Flags& wanted,
                      const ir::Type* taken = nullptr) {
    return memo_.Get(
        region, inputs, wanted,
        [&] { return Mapper(region, inputs, dim_, memo_, taken).Run(wanted); }, taken);
  }
  // The same of a part of this program. It gets the lanes that take the branch, if some do not.
  const Batch& Part(const ir::Program& region, const Flags& inputs, const Flags& wanted) {
    const ValueId lanes = taken_.lanes();
    return Region(region, inputs, wanted, taken_.IsAll() ? nullptr : builder_.type(lanes));
  }
  void GiveTaken(std::vector<ValueId>& operands, size_t at) const {
    if (!taken_.IsAll()) operands.insert(operands.begin() + static_cast<long>(at), taken_.lanes());
  }

  void VisitRegions(const ir::Instruction& i, Taken::BranchCall& given) {
    if (i.op->roles) {
      if (!taken_.IsAll()) taken_.GiveToLanes(given);
      return VisitRules(i, given);
    }
    const Flags& mapped = given.mapped;
    const RegionLayout layout(i);
    switch (std::get<ir::AsRegions>(*i.op->lowering).kind) {
      case ir::AsRegions::kScan:
        return VisitScan(i, layout);
      case ir::AsRegions::kWhile:
        return VisitWhile(i, layout);
      case ir::AsRegions::kSwitch:
        return mapped[0] ? Select(i, layout) : VisitOnce(i, layout);
      case ir::AsRegions::kCall:
        return VisitOnce(i, layout);
    }
  }

  // Which inputs and outputs of a loop's body are mapped: a carry is, if it is at the start or at
  // the end of an iteration.
  struct Mapped {
    Flags ins, outs;
  };
  Mapped MappedIn(const ir::Instruction& i, const RegionLayout& layout, Flags ins) {
    for (;;) {
      Flags outs(i.results.size());
      for (size_t c = 0; c < layout.carries; ++c) outs[c] = ins[layout.CarryInput(c)];
      outs = Part(*i.regions[layout.bodies[0]], ins, outs).mapped;
      bool grew = false;
      for (size_t c = 0; c < layout.carries; ++c) {
        const size_t in = layout.CarryInput(c);
        grew = grew || (outs[c] && !ins[in]);
        ins[in] = outs[c];
      }
      if (!grew) return {std::move(ins), std::move(outs)};
    }
  }

  // The operands of the regions, with the dim where `ins` says so.
  std::vector<ValueId> OperandsOf(const ir::Instruction& i, size_t first, const Flags& ins) {
    std::vector<ValueId> operands;
    for (size_t k = 0; k < ins.size(); ++k) {
      const ValueId v = i.operands[first + k];
      operands.push_back(ins[k] ? WithDim(v) : made_[Index(v)]);
    }
    return operands;
  }
  void Emit(const ir::Instruction& i, absl::Span<const ValueId> operands, const Flags& outs,
            std::vector<ir::RegionPtr> regions) {
    std::vector<const ir::Type*> types;
    for (size_t r = 0; r < outs.size(); ++r) {
      const ir::Type* type = from_.type(i.results[r]);
      types.push_back(outs[r] ? ops::WithDim(type, dim_) : type);
    }
    const auto results = builder_.EmitTyped(*i.op, i.params, operands, types, std::move(regions));
    for (size_t r = 0; r < outs.size(); ++r) Set(i.results[r], results[r], outs[r]);
  }

  // What a scan steps over stays in front: the mapped dim of its xs and ys comes second.
  void VisitScan(const ir::Instruction& i, const RegionLayout& layout) {
    const Mapped mapped = MappedIn(i, layout, MappedOf(i.operands));
    std::vector<ValueId> operands = OperandsOf(i, 0, mapped.ins);
    const size_t xs = layout.ins[0] + layout.ins[1];
    for (size_t k = xs; k < operands.size(); ++k)
      if (mapped.ins[k])
        operands[k] = Exchanged(operands[k], ops::WithDim(from_.type(i.operands[k]), dim_, 1));
    GiveTaken(operands, 0);
    const ir::ParamsPtr params =
        ir::WithCounts(i, layout.ins[0] + (taken_.IsAll() ? 0 : 1), layout.carries);
    const Batch& body = Part(*i.regions[0], mapped.ins, mapped.outs);
    std::vector<const ir::Type*> types;
    for (size_t r = 0; r < i.results.size(); ++r) {
      const ir::Type* type = from_.type(i.results[r]);
      types.push_back(mapped.outs[r] ? ops::WithDim(type, dim_, r < layout.carries ? 0 : 1) : type);
    }
    const auto results =
        builder_.EmitTyped(*i.op, params, operands, types, {ir::Shared(body.program)});
    for (size_t r = 0; r < results.size(); ++r) {
      const bool moves = mapped.outs[r] && r >= layout.carries;
      const ValueId made =
          moves ? Exchanged(results[r], ops::WithDim(from_.type(i.results[r]), dim_)) : results[r];
      Set(i.results[r], made, mapped.outs[r]);
    }
  }
  // Returns `v`, a value of the type, with its first two dims exchanged.
  ValueId Exchanged(ValueId v, const ir::Type* type) { return ops::ToFront(builder_, v, 1, type); }

  // Runs until all lanes are done. A lane that is done keeps what it has.
  void VisitWhile(const ir::Instruction& i, const RegionLayout& layout) {
    Mapped mapped = MappedIn(i, layout, MappedOf(i.operands));
    if (Region(*i.regions[0], mapped.ins, {false}).mapped[0]) {
      for (size_t c = 0; c < layout.carries; ++c) mapped.ins[layout.CarryInput(c)] = true;
      mapped = MappedIn(i, layout, mapped.ins);
    }
    const Batch& condition = Region(*i.regions[0], mapped.ins, {false});
    const Batch& body = Region(*i.regions[1], mapped.ins, mapped.outs);
    const std::vector<ValueId> operands = OperandsOf(i, 0, mapped.ins);
    std::vector<ir::RegionPtr> regions{ir::Shared(condition.program), ir::Shared(body.program)};
    if (condition.mapped[0])
      regions = {AnyLane(condition.program, i.loc),
                 WhereNotDone(condition.program, body.program, layout, i.loc)};
    Emit(i, operands, mapped.outs, std::move(regions));
  }
  static ir::RegionPtr AnyLane(ir::Program condition, Loc loc) {
    ir::Builder builder(condition, loc);
    condition.outputs = {ops::AnyLane(builder, condition.outputs[0])};
    return ir::Shared(std::move(condition));
  }
  static ir::RegionPtr WhereNotDone(ir::Program condition, ir::Program body,
                                    const RegionLayout& layout, Loc loc) {
    ir::Builder builder(body, loc);
    ir::RemoveEffects(condition);
    const ValueId runs = ir::Inline(builder, condition, body.inputs)[0];
    for (size_t c = 0; c < layout.carries; ++c)
      body.outputs[c] =
          ops::ByLane(builder, runs, body.outputs[c], body.inputs[layout.CarryInput(c)]);
    return ir::Shared(std::move(body));
  }
  // The outputs of all branches are mapped where those of one are.
  Flags OutsOf(const ir::Instruction& i, const Flags& ins) {
    Flags outs(i.results.size());
    for (const ir::RegionPtr& branch : i.regions) {
      const Flags& mapped = Part(*branch, ins, Flags(outs.size())).mapped;
      for (size_t r = 0; r < outs.size(); ++r) outs[r] = outs[r] || mapped[r];
    }
    return outs;
  }
  // Of regions of which one runs, the same for all lanes.
  void VisitOnce(const ir::Instruction& i, const RegionLayout& layout) {
    Flags ins = MappedOf(i.operands);
    ins.erase(ins.begin(), ins.begin() + static_cast<long>(layout.first));
    const Flags outs = OutsOf(i, ins);
    std::vector<ir::RegionPtr> regions;
    for (const ir::RegionPtr& branch : i.regions)
      regions.push_back(ir::Shared(Part(*branch, ins, outs).program));
    std::vector<ValueId> operands = OperandsOf(i, layout.first, ins);
    GiveTaken(operands, 0);
    for (size_t k = layout.first; k-- > 0;)
      operands.insert(operands.begin(), made_[Index(i.operands[k])]);
    Emit(i, operands, outs, std::move(regions));
  }

  // Each lane has an index of its own: all branches run, and each lane takes its branch's results.
  void Select(const ir::Instruction& i, const RegionLayout& layout) {
    Flags ins = MappedOf(i.operands);
    ins.erase(ins.begin());
    const std::vector<ValueId> operands = OperandsOf(i, layout.first, ins);
    const ops::X index(builder_, made_[Index(i.operands[0])]);
    size_t last = 0;
    while (last + 1 < i.regions.size() && !IsMost(index.type()->dtype(), last)) ++last;
    // A bool takes the first branch where it is true; other indices are clamped.
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
  // Returns what branch k makes of the operands; derivatives are of lanes that take it.
  std::vector<ValueId> Branch(const ir::Instruction& i, size_t k, size_t last, const Flags& ins,
                              std::vector<ValueId> operands) {
    const Flags all(i.results.size(), true);
    if (last == 0) {
      GiveTaken(operands, 0);
      return ir::Inline(builder_, Part(*i.regions[k], ins, all).program, operands);
    }
    const ValueId lanes = taken_.And(Names(builder_, made_[Index(i.operands[0])], k, last));
    for (size_t n = 0; n < ins.size(); ++n)
      if (ins[n] && ops::HasTangent(builder_.type(operands[n])))
        operands[n] = ops::CountedWhere(builder_, lanes, operands[n]);
    operands.insert(operands.begin(), lanes);
    const Batch& branch = Region(*i.regions[k], ins, all, builder_.type(lanes));
    return ir::Inline(builder_, branch.program, operands);
  }
  // Whether no index of this dtype is greater.
  static bool IsMost(DType dtype, size_t k) {
    const int bits = 8 * dtype.size() - dtype.is_signed();
    return !dtype.is_bool() && bits < 32 && k >= (size_t{1} << bits) - 1;
  }

  // ---- rules of the user's ----

  // What is mapped of what the regions' inputs and outputs go with.
  struct Roles {
    Flags operands, results, residuals;
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
  };

  void VisitRules(const ir::Instruction& i, const Taken::BranchCall& given) {
    const Flags& mapped = given.mapped;
    const TypesOf types(from_, i);
    const auto regions =
        i.op->roles({i.params.get(), i.operands.size(), i.regions}, types.operands, types.results);
    Roles roles{mapped, Flags(i.results.size()), {}};
    // What is made of a result's cotangent differs by lane, even where the result does not.
    if (AreBackward(regions) && std::count(mapped.begin(), mapped.end(), true) > 0)
      roles.results.assign(i.results.size(), true);
    bool gives_results = false, grew = true;
    while (grew) {
      grew = false;
      for (size_t r = 0; r < regions.size(); ++r) {
        const Flags outs =
            Region(*i.regions[r], roles.Of(regions[r].inputs), Flags(regions[r].outputs.size()))
                .mapped;
        for (size_t o = 0; o < outs.size(); ++o) {
          const ir::RegionRole& role = regions[r].outputs[o];
          if (role.kind == ir::RegionRole::kOperand) continue;
          gives_results = true;
          if (outs[o] && !roles.At(role)) roles.At(role) = grew = true;
        }
      }
    }
    if (!gives_results) roles.results.assign(i.results.size(), true);
    std::vector<ir::RegionPtr> batched;
    for (size_t r = 0; r < regions.size(); ++r)
      batched.push_back(Rule(*i.regions[r], regions[r], roles));
    Emit(i, given.operands, roles.results, std::move(batched));
  }
  static bool AreBackward(const std::vector<ir::RegionRoles>& regions) {
    return std::any_of(regions.begin(), regions.end(), [](const ir::RegionRoles& r) {
      return std::any_of(r.inputs.begin(), r.inputs.end(),
                         [](const ir::RegionRole& role) { return role.cotangent; });
    });
  }
  // What all lanes say of a value that they share, its cotangent, is added up.
  ir::RegionPtr Rule(const ir::Program& region, const ir::RegionRoles& ends, Roles& roles) {
    const Flags wanted = roles.Of(ends.outputs);
    const Batch& batch = Region(region, roles.Of(ends.inputs), wanted);
    ir::Program program = batch.program;
    ir::Builder builder(program, Loc::Unknown());
    for (size_t o = 0; o < wanted.size(); ++o)
      if (batch.mapped[o] && !wanted[o])
        program.outputs[o] =
            ops::SumOfLanes(builder, program.outputs[o], region.type(region.outputs[o]));
    return ir::Shared(std::move(program));
  }

  const ir::Program& from_;
  const ir::MappedDim& dim_;
  Memo& memo_;
  ir::Program to_;
  ir::Builder builder_;
  const Taken taken_;
  // By value of `from_`.
  std::vector<ValueId> made_;
  Flags mapped_, active_;  // active: a derivative with respect to it may be asked for
};

}  // namespace

Batch MakeBatch(const ir::Program& program, const Flags& inputs, const Flags& wanted,
                const ir::MappedDim& dim) {
  Mapper::Memo memo;
  return Mapper(program, inputs, dim, memo).Run(wanted);
}

}  // namespace tessera::transforms

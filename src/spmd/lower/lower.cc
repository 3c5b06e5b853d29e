// Lowering: partitions every op, moves its operands and results, and lowers regions.
#include "spmd/lower/lower.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/node_hash_map.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/move_params.h"
#include "ops/manual.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "sharding/local.h"
#include "sharding/partition.h"
#include "spmd/local_type.h"
#include "spmd/lower/draft.h"
#include "spmd/lower/halo_stages.h"
#include "spmd/lower/halo_writer.h"
#include "spmd/lower/loop_regions.h"
#include "spmd/lower/op_partition.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using sharding::StepKind;
using sharding::TensorSharding;

class ProgramLowering {
 public:
  ProgramLowering(const ir::Program& from, const AskedMoves& asked, RegionLowering lower_region)
      : from_(from), asked_(asked), lower_region_(lower_region), loc_(Loc::Unknown()) {
    program().mesh = from.mesh;
    program().per_device = true;
    map_.assign(from.values.size(), -1);
  }

  ir::Program Run() {
    staged_ = InStages(from_, [this](ir::ValueId v) { return Wanted(v); });
    for (ir::ValueId v : from_.inputs) program().inputs.push_back(Parameter(v));
    for (const ir::Capture& c : from_.captures)
      program().captures.push_back({Parameter(c.value), c.array});
    for (const ir::Instruction& instruction : from_.instructions) {
      loc_ = instruction.loc;
      LowerInstruction(instruction);
    }
    for (ir::ValueId v : from_.outputs) program().outputs.push_back(OfItsOwn(At(v)));
    return std::move(program());
  }

 private:
  ir::ValueId At(ir::ValueId v) const { return base::At(map_, v); }

  ir::Program& program() { return draft_.program; }
  const ir::Program& program() const { return draft_.program; }

  ir::ValueId AddValue(const ir::Type* place, Loc loc) { return draft_.AddValue(place, loc); }
  const ir::Type* Place(ir::ValueId v) const { return draft_.Place(v); }
  const Draft::Origin* OriginOf(ir::ValueId v) const { return draft_.OriginOf(v); }
  const ir::Type* Wanted(ir::ValueId v) const { return PlaceIn(from_, v); }
  ir::ValueId Parameter(ir::ValueId v) {
    Loc loc = base::At(from_.values, v).loc;
    return base::At(map_, v) = AddValue(Wanted(v)->WithWeak(false), loc);
  }

  void LowerInstruction(const ir::Instruction& instruction) {
    const ir::OpDef& op = *instruction.op;
    std::vector<const ir::Type*> results;
    for (ir::ValueId v : instruction.results) results.push_back(Wanted(v));
    std::vector<ir::ValueId> operands;
    for (ir::ValueId v : instruction.operands) operands.push_back(At(v));
    std::vector<ir::ValueId> values;
    if (auto* move = std::get_if<ir::AsMove>(&*op.lowering)) {
      const std::optional<Loc> asked = move->implied ? AskedAt(instruction, 0) : loc_;
      values = {ReshardAsAsked(operands[0], results[0], asked)};
    } else if (auto* expand = std::get_if<ir::AsExpansion>(&*op.lowering)) {
      values = ExpandInto(expand->expand, instruction.params.get(), operands, results[0]);
    } else if (std::holds_alternative<ir::AsHostCall>(*op.lowering)) {
      Emit(op, instruction.params, operands, {}, Costing({}));
    } else if (auto* manual = std::get_if<ir::AsManualMove>(&*op.lowering)) {
      values = {Manually(instruction, *manual, operands[0], results[0])};
    } else if (std::holds_alternative<ir::AsPermute>(*op.lowering)) {
      values = {Permuted(instruction, operands[0])};
    } else if (std::holds_alternative<ir::AsIota>(*op.lowering) &&
               !std::holds_alternative<ir::DimMapFn>(*op.dims)) {
      values = {AddValue(results[0]->WithWeak(false), loc_)};
      Emit(op, instruction.params, {}, values, Costing({}));
    } else if (std::holds_alternative<ir::AsRegions>(*op.lowering)) {
      values = LowerRegions(instruction, operands, results);
    } else {
      values = Partitioned(instruction, operands, results);
    }
    for (size_t i = 0; i < values.size(); ++i) base::At(map_, instruction.results[i]) = values[i];
  }

  // A move between two views. Along the other axes the result lies as the operand did, until it is
  // laid out as propagation says.
  ir::ValueId Manually(const ir::Instruction& instruction, const ir::AsManualMove& manual,
                       ir::ValueId v, const ir::Type* result) {
    const ir::ManualViews views = manual.views(instruction.params.get(), Place(v), result);
    // Views of parts along a dim are so only where its other axes divide what is left of it.
    if (IsUneven(views.from) || IsUneven(views.to))
      if (const ir::Type* whole = Whole(Place(v)); whole != Place(v))
        return Manually(instruction, manual, Moved(v, whole, true), result);
    v = Reshard(SeenAs(v, views.from), views.to, manual.implied);
    const TensorSharding& to = views.to->sharding();
    if (to == result->sharding()) return SeenAs(v, result);
    TensorSharding inside = result->sharding();
    const sharding::AxisList axes =
        ops::AxesOf(to.mesh, ir::As<ops::ManualParams>(instruction.params.get()).axes);
    for (size_t d = 0; d < inside.dims.size(); ++d)
      inside.dims[d].axes = sharding::Difference(to.dims[d].axes, axes);
    return Reshard(SeenAs(v, result->WithSharding(std::move(inside))), result, true);
  }
  static bool IsUneven(const ir::Type* view) {
    return sharding::FirstUnevenDim(view->sharding(), view->shape()) >= 0;
  }
  // Returns v as devices' parts of a place. Where they had one array, each is now said to have one
  // of its own: still the same, until it must be (see OfItsOwn).
  ir::ValueId SeenAs(ir::ValueId v, const ir::Type* place) {
    place = place->WithWeak(false);
    if (Place(v) == place) return v;
    return Move(ops::kSeenAs, v, place, {});
  }

  // Returns v with an array for every device that is said to have one.
  ir::ValueId OfItsOwn(ir::ValueId v) {
    const ir::Type *place = Place(v), *root = Place(draft_.RootOf(v));
    if (sharding::VaryingAxes(root->sharding()) == sharding::VaryingAxes(place->sharding()))
      return v;
    ir::ValueId own = AddValue(place, loc_);
    Emit(ops::kCopyToEach, ir::MakeParams(ir::MoveParams{.from = place, .to = place}), {v}, {own},
         Costing({}));
    return own;
  }

  ir::ValueId Permuted(const ir::Instruction& instruction, ir::ValueId v) {
    const ir::Type* place = Place(v);
    const auto& params = ir::As<ops::PermuteParams>(instruction.params.get());
    const bool moves = std::any_of(params.pairs.begin(), params.pairs.end(),
                                   [](const auto& pair) { return pair[0] != pair[1]; });
    const int64_t bytes =
        sharding::LocalElements(place->shape(), place->sharding()) * place->dtype().size();
    ir::ValueId next = AddValue(place, loc_);
    Emit(*instruction.op, instruction.params, {v}, {next},
         Costing({.bytes = moves ? bytes : 0,
                  .axes = ops::AxesOf(place->mesh(), params.axes),
                  .implied = false}));
    return next;
  }

  // Lowers the ops that an op expands to, traced as a small program of their own over complete
  // types.
  std::vector<ir::ValueId> ExpandInto(ir::ExpandFn expand, const ir::Params* params,
                                      const std::vector<ir::ValueId>& operands,
                                      const ir::Type* result) {
    ir::Program inner;
    inner.mesh = from_.mesh ? from_.mesh->WithoutModes() : nullptr;
    for (ir::ValueId v : operands) inner.inputs.push_back(inner.AddValue(Place(v), loc_));
    ir::Builder builder(inner, loc_);
    inner.outputs = expand(builder, params, inner.inputs, result);
    const AskedMoves none;
    ProgramLowering sub(inner, none, lower_region_);
    std::swap(sub.draft_, draft_);
    for (size_t i = 0; i < inner.inputs.size(); ++i)
      base::At(sub.map_, inner.inputs[i]) = operands[i];
    for (const ir::Instruction& step : inner.instructions) {
      sub.loc_ = loc_;
      sub.LowerInstruction(step);
    }
    std::swap(sub.draft_, draft_);
    std::vector<ir::ValueId> values;
    for (ir::ValueId v : inner.outputs) values.push_back(sub.At(v));
    return values;
  }

  // Every end of a data-flow edge has one type, so nothing moves at the border of a region.
  std::vector<ir::ValueId> LowerRegions(const ir::Instruction& instruction,
                                        const std::vector<ir::ValueId>& operands,
                                        const std::vector<const ir::Type*>& results) {
    std::vector<ir::Program> regions;
    const Constants constants = ConstantsOf(instruction);
    for (const ir::RegionPtr& region : instruction.regions) {
      const bool hoists = constants.repeats && region == instruction.regions.back();
      regions.push_back(lower_region_(region, hoists ? constants.count : 0));
    }
    std::vector<ir::ValueId> ins, outs;
    for (ir::ValueId v : operands) ins.push_back(OfItsOwn(v));
    ir::ParamsPtr params = Hoist(instruction, regions, ins);
    for (const ir::Type* t : results) outs.push_back(AddValue(t->WithWeak(false), loc_));
    ir::Instruction& made = Emit(*instruction.op, std::move(params), ins, outs, Costing({}));
    for (ir::Program& region : regions) made.regions.push_back(ir::Shared(std::move(region)));
    return outs;
  }

  // Does before a loop or branch what its regions do with the outside alone: collectives and work
  // that are the same in every iteration, and slices. Returns its parameters.
  ir::ParamsPtr Hoist(const ir::Instruction& instruction, std::vector<ir::Program>& regions,
                      std::vector<ir::ValueId>& operands) {
    Constants constants = ConstantsOf(instruction);
    auto before = static_cast<int64_t>(constants.count);
    for (size_t r = constants.of_all_regions ? 0 : regions.size() - 1; r < regions.size(); ++r)
      constants.count += HoistFrom(regions, r, constants, operands);
    constants.count -= DropUnreadConstants(regions, constants, operands);
    return WithConstants(instruction, static_cast<int64_t>(constants.count) - before);
  }

  // Returns how many constants are added, behind those that are there.
  size_t HoistFrom(std::vector<ir::Program>& regions, size_t r, const Constants& constants,
                   std::vector<ir::ValueId>& operands) {
    ir::Program& body = regions[r];
    Invariants invariants = FindInvariants(body, constants);
    if (invariants.results.empty()) return 0;
    std::vector<ir::ValueId> outside(body.values.size(), -1), given;
    for (size_t i = 0; i < constants.count; ++i)
      base::At(outside, body.inputs[i]) = operands[constants.first + i];
    for (size_t i : invariants.instructions) {
      const ir::Instruction& inner = body.instructions[i];
      std::vector<ir::ValueId> ins, outs;
      for (ir::ValueId v : inner.operands) ins.push_back(base::At(outside, v));
      if (IsPadding(inner)) {  // the slice behind it pads again, if it must
        base::At(outside, inner.results[0]) = ins[0];
        continue;
      }
      if (IsSlice(inner)) {
        ir::ValueId made = inner.results[0];
        base::At(outside, made) = Reshard(ins[0], body.place(made), inner.cost->implied);
        continue;
      }
      for (ir::ValueId v : inner.results)
        outs.push_back(base::At(outside, v) = AddValue(body.place(v), inner.loc));
      Emit(*inner.op, inner.params, ins, outs, inner.cost).loc = inner.loc;
    }
    std::vector<const ir::Type*> places;
    for (ir::ValueId v : invariants.results) {
      given.push_back(base::At(outside, v));
      places.push_back(body.place(v));
    }
    for (ir::Program& region : regions) {
      std::vector<ir::ValueId> values(given.size(), -1);
      MakeInputs(region, &region == &body ? invariants.results : values, constants.count, places);
    }
    operands.insert(operands.begin() + static_cast<long>(constants.first + constants.count),
                    given.begin(), given.end());
    return given.size();
  }

  // `anew`: the value exists already and is made a second time, for a use of a part of it.
  std::vector<ir::ValueId> Partitioned(const ir::Instruction& instruction,
                                       std::vector<ir::ValueId> operands,
                                       const std::vector<const ir::Type*>& results,
                                       bool anew = false) {
    if (std::holds_alternative<ir::AsElementwise>(*instruction.op->lowering)) TakeScalars(operands);
    std::vector<const ir::Type*> places;
    for (ir::ValueId v : operands) places.push_back(Place(v));
    // Held here: what is lowered for its operands may make the memory forget it.
    const std::shared_ptr<const Decision> held = DecisionOn(instruction, places, results);
    const Decision& decision = *held;
    if (decision.expands) {
      std::vector<ir::ValueId> even;
      for (ir::ValueId v : operands) even.push_back(Reshard(v, Even(Place(v)), true));
      std::vector<ir::ValueId> made =
          ExpandInto(std::get<ir::AsKernel>(*instruction.op->lowering).sharded,
                     instruction.params.get(), even, results[0]);
      for (size_t i = 0; i < made.size(); ++i) made[i] = Reshard(made[i], results[i], true);
      return made;
    }
    absl::InlinedVector<ir::ValueId, 3> ins;
    std::vector<ir::ValueId> outs;
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::optional<Loc> asked = anew ? std::nullopt : AskedAt(instruction, i);
      ins.push_back(ReshardAsAsked(operands[i], decision.operands[i], asked));
      if (decision.masks[i])
        ins[i] = ExpandInto(MaskOp(), decision.masks[i].get(), {ins[i]}, decision.operands[i])[0];
    }
    for (const ir::Type* left : decision.results) outs.push_back(AddValue(left, loc_));
    if (decision.halo && !anew && decision.results[0] == results[0] &&
        EmitInParts(instruction, decision, ins, outs[0]))
      return outs;
    if (decision.halo)
      Emit(OpOf(StepKind::kHaloExchange), decision.halo, ins, outs, decision.cost);
    else if (!EmitReduction(instruction, decision, ins, outs))
      Emit(*instruction.op, instruction.params, ins, outs, decision.cost);
    for (size_t i = 0; i < results.size(); ++i)
      outs[i] = anew ? Moved(outs[i], results[i], true)
                     : ReshardAsAsked(outs[i], results[i], AskedAt(instruction, ins.size() + i));
    return outs;
  }

  // Where the user asked for what is moved for the k-th of an instruction's operands and results.
  std::optional<Loc> AskedAt(const ir::Instruction& instruction, size_t k) const {
    if (asked_.empty()) return {};
    const auto it = asked_.find(instruction.results[0]);
    return it == asked_.end() || k >= it->second.size() ? std::nullopt : it->second[k];
  }
  ir::ValueId ReshardAsAsked(ir::ValueId v, const ir::Type* to, const std::optional<Loc>& asked) {
    const Loc loc = std::exchange(loc_, asked.value_or(loc_));
    v = Reshard(v, to, !asked);
    loc_ = loc;
    return v;
  }

  // Whether elementwise ops alone read what an instruction of the traced program makes.
  bool IsReadByElement(const ir::Instruction& instruction) {
    if (read_otherwise_.empty()) {
      read_otherwise_.resize(from_.values.size());
      for (ir::ValueId v : from_.outputs) base::At(read_otherwise_, v) = true;
      for (const ir::Instruction& user : from_.instructions)
        for (ir::ValueId v : user.operands)
          if (!std::holds_alternative<ir::AsElementwise>(*user.op->lowering))
            base::At(read_otherwise_, v) = true;
    }
    return !base::At(read_otherwise_, instruction.results[0]);
  }

  // False: what is exchanged is exchanged at once.
  bool EmitInParts(const ir::Instruction& instruction, const Decision& decision,
                   absl::Span<const ir::ValueId> ins, ir::ValueId out) {
    const auto& halo = ir::As<ir::HaloParams>(decision.halo.get());
    HaloWriter writer(draft_, loc_);
    if (staged_.contains(instruction.results[0])) {
      writer.EmitStages(halo, ins, out);
      return true;
    }
    return IsReadByElement(instruction) && writer.EmitEdges(halo, decision.cost, ins, out);
  }

  // A reduction of one element each is a view. A large array that is reduced to a number, on one
  // device, is reduced by rows first: that is work for all cores. Not of small floats, whose sums
  // would be rounded row by row. False: it is another instruction.
  bool EmitReduction(const ir::Instruction& instruction, const Decision& decision,
                     absl::Span<const ir::ValueId> ins, absl::Span<const ir::ValueId> outs) {
    constexpr int64_t kLarge = 1 << 18, kLeastRows = 64, kLeastRow = 512;
    if (!std::holds_alternative<ir::AsReduction>(*instruction.op->lowering)) return false;
    const ir::Type *place = Place(ins[0]), *local = LocalType(place);
    if (local->elements() == LocalType(Place(outs[0]))->elements()) {
      Emit(ops::kReshape, nullptr, ins, outs, decision.cost);
      return true;
    }
    if (Place(outs[0])->rank() != 0 || local->elements() < kLarge || place->dtype().size() < 4 ||
        !sharding::VaryingAxes(place->sharding()).empty())
      return false;
    int64_t rows = 1, rank = place->rank(), outer = 0;
    while (outer + 1 < rank && rows < kLeastRows) rows *= local->shape()[outer++];
    if (rows < kLeastRows || local->elements() / rows < kLeastRow) return false;
    TensorSharding s = place->sharding();
    s.dims.resize(base::Size(outer));
    const base::Shape shape(local->shape().begin(), local->shape().begin() + outer);
    const ir::ValueId row = AddValue(ir::Type::Get(shape, place->dtype(), std::move(s)), loc_);
    const auto reduce = [&](int64_t begin, int64_t end, ir::ValueId from, ir::ValueId to,
                            ir::CostPtr cost) {
      ops::DimsParams dims;
      for (int64_t d = begin; d < end; ++d) dims.dims.push_back(d);
      Emit(*instruction.op, ir::MakeParams(std::move(dims)), {from}, {to}, std::move(cost));
    };
    reduce(outer, rank, ins[0], row, decision.cost);
    reduce(0, outer, row, outs[0], Costing({}));
    return true;
  }

  // Returns v laid out as `to`.
  ir::ValueId Reshard(ir::ValueId v, const ir::Type* to, bool implied) {
    const ir::Type* from = Place(v);
    if (from == to || from->sharding() == to->sharding()) return v;
    if (std::optional<ir::ValueId> part = PartOf(v, to)) return *part;
    return Moved(v, to, implied);
  }

  // Returns a part of v made as such, if v is light.
  std::optional<ir::ValueId> PartOf(ir::ValueId v, const ir::Type* to) {
    const Draft::Origin* origin = OriginOf(v);
    if (!origin) return {};
    const ir::Instruction& maker = base::At(program().instructions, origin->instruction);
    if (!origin->light && !IsSlice(maker)) return {};
    if (auto it = draft_.parts.find({v, to}); it != draft_.parts.end()) return it->second;
    if (!OnlySlices(Place(v), to) && !(IsMadeAnywhere(v) && IsPlain(to))) return {};
    if (IsSlice(maker)) return PartOf(maker.operands[0], to);
    if (maker.results.size() != 1 || depth_ == kDeepest) return {};
    const ir::Instruction made = maker;  // the list grows
    ++depth_;
    ir::ValueId part = MakePart(made, to);
    --depth_;
    draft_.parts.emplace(std::pair(v, to), part);
    return part;
  }

  static bool IsPlain(const ir::Type* place) {
    return place->sharding().unreduced.empty() && place->sharding().varying.empty();
  }
  // Whether every device has all that a value is made of: it can make any part, and the whole.
  bool IsMadeAnywhere(ir::ValueId v, int depth = 0) const {
    if (sharding::VaryingAxes(Place(v)->sharding()).empty()) return true;
    const Draft::Origin* origin = OriginOf(v);
    if (!origin || !origin->light || !IsPlain(Place(v)) || depth == kShallow) return false;
    const ir::Instruction& made = base::At(program().instructions, origin->instruction);
    return std::all_of(made.operands.begin(), made.operands.end(),
                       [&](ir::ValueId w) { return IsMadeAnywhere(w, depth + 1); });
  }

  ir::ValueId MakePart(const ir::Instruction& made, const ir::Type* to) {
    Loc loc = std::exchange(loc_, made.loc);
    std::vector<ir::ValueId> operands(made.operands.begin(), made.operands.end());
    auto* kernel = std::get_if<ir::AsKernel>(&*made.op->lowering);
    std::optional<ir::ValueId> scalar;
    if (kernel && kernel->of_scalar) scalar = draft_.ScalarOf(operands[0]);
    ir::ValueId part;
    if (scalar) {
      operands[0] = *scalar;
      part = ExpandInto(kernel->of_scalar, made.params.get(), operands, to)[0];
    } else {
      part = Partitioned(made, operands, {to}, /*anew=*/true)[0];
    }
    loc_ = loc;
    return part;
  }

  // Elementwise ops repeat scalars themselves, without memory. One operand keeps the shape.
  void TakeScalars(std::vector<ir::ValueId>& operands) const {
    std::vector<ir::ValueId> taken;
    for (ir::ValueId v : operands) taken.push_back(draft_.ScalarOf(v).value_or(v));
    if (std::any_of(taken.begin(), taken.end(),
                    [&](ir::ValueId v) { return !Place(v)->shape().empty(); }))
      operands = std::move(taken);
  }

  // The plan of a move; layers of a model move alike.
  const std::vector<sharding::ReshardStep>& StepsBetween(const ir::Type* from, const ir::Type* to) {
    const auto [it, is_new] = steps_.try_emplace(std::pair(from, to));
    if (is_new)
      it->second = sharding::PlanReshard(from->shape(), from->dtype().size(), from->sharding(),
                                         to->sharding());
    return it->second;
  }

  bool OnlySlices(const ir::Type* from, const ir::Type* to) {
    const std::vector<sharding::ReshardStep>& steps = StepsBetween(from, to);
    return !steps.empty() && std::all_of(steps.begin(), steps.end(), [](const auto& step) {
      return step.kind == StepKind::kAllSlice;
    });
  }

  ir::ValueId Moved(ir::ValueId v, const ir::Type* to, bool implied) {
    const ir::Type* from = Place(v);
    if (from == to || from->sharding() == to->sharding()) return v;
    for (const sharding::ReshardStep& step : StepsBetween(from, to)) {
      const ir::Type* after = ir::Type::Get(from->shape(), from->dtype(), step.after);
      const ir::Cost local{.implied = implied};
      const ir::Cost cost{.bytes = step.bytes, .axes = step.axes, .implied = implied};
      if (step.kind == StepKind::kAllSlice)
        v = Move(OpOf(StepKind::kPadToShards), v, Padded(Place(v), step.after), local);
      if (step.kind == StepKind::kAllGather) {
        v = Move(OpOf(step.kind), v, Padded(after, Place(v)->sharding()), cost);
        v = Move(OpOf(StepKind::kTrim), v, after, local);
      } else {
        v = Move(OpOf(step.kind), v, after, cost);
      }
    }
    return v;
  }

  ir::ValueId Move(const ir::OpDef& op, ir::ValueId v, const ir::Type* after,
                   const ir::Cost& cost) {
    const ir::Type* before = Place(v);
    if (before == after) return v;
    ir::ValueId next = AddValue(after, loc_);
    Emit(op, ir::MakeParams(ir::MoveParams{.from = before, .to = after}), {v}, {next},
         Costing(cost));
    return next;
  }

  ir::Instruction& Emit(const ir::OpDef& op, ir::ParamsPtr params,
                        absl::Span<const ir::ValueId> ins, absl::Span<const ir::ValueId> outs,
                        ir::CostPtr cost) {
    return draft_.Emit({.op = &op,
                        .params = std::move(params),
                        .operands = {ins.begin(), ins.end()},
                        .results = {outs.begin(), outs.end()},
                        .loc = loc_,
                        .cost = std::move(cost)});
  }

  const ir::Program& from_;
  const AskedMoves& asked_;
  const RegionLowering lower_region_;
  Draft draft_;
  // Parts are made of parts; beyond this depth a whole value is cut.
  static constexpr int kDeepest = 200, kShallow = 4;
  int depth_ = 0;
  std::vector<ir::ValueId> map_;  // from traced to device values
  absl::node_hash_map<std::pair<const ir::Type*, const ir::Type*>,
                      std::vector<sharding::ReshardStep>>
      steps_;
  absl::flat_hash_set<ir::ValueId> staged_;  // traced values that are exchanged dim by dim
  std::vector<bool> read_otherwise_;         // per traced value: by more than elementwise ops
  Loc loc_;
};

}  // namespace

ir::Program Partition(const ir::Program& program, const AskedMoves& asked,
                      RegionLowering lower_region) {
  return ProgramLowering(program, asked, lower_region).Run();
}

}  // namespace tessera::spmd

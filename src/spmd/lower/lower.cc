// Lowers a program instruction by instruction, by the kind of its op.
#include "spmd/lower/lower.h"

#include <absl/algorithm/container.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "ir/move_params.h"
#include "ops/manual.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "sharding/local.h"
#include "spmd/local_type.h"
#include "spmd/lower/draft.h"
#include "spmd/lower/halo_stages.h"
#include "spmd/lower/hoist.h"
#include "spmd/lower/loop_regions.h"
#include "spmd/lower/op_emitter.h"

namespace tessera::spmd {
namespace {

using ir::kNoValue;
using ValueMap = base::IdVector<ir::ValueId, ir::ValueId>;  // from traced to device values

// Returns, per value, whether ops that are not elementwise read it.
base::IdVector<ir::ValueId, bool> ReadOtherwise(const ir::Program& program) {
  base::IdVector<ir::ValueId, bool> read(program.values.size());
  for (ir::ValueId v : program.outputs) read[v] = true;
  for (const ir::Instruction& user : program.instructions)
    if (!std::holds_alternative<ir::AsElementwise>(*user.op->lowering))
      for (ir::ValueId v : user.operands) read[v] = true;
  return read;
}

bool IsUneven(const ir::Type* view) {
  return sharding::FirstUnevenDim(view->sharding(), view->shape()) >= 0;
}

// Lowers one program: the whole program, or the program that an op expands to.
class ProgramLowering {
 public:
  ProgramLowering(const ir::Program& from, const AskedMoves& asked, RegionLowering lower_region,
                  Draft& draft, OpEmitter& emitter)
      : from_(from),
        asked_(asked),
        lower_region_(lower_region),
        draft_(draft),
        emitter_(emitter),
        map_(from.values.size(), kNoValue) {}

  void LowerProgram() {
    staged_ = FindStagedExchanges(from_, [this](ir::ValueId v) { return PlaceIn(from_, v); });
    ir::Program& device = draft_.program;
    for (ir::ValueId v : from_.inputs) device.inputs.push_back(AddParameter(v));
    for (const ir::Capture& c : from_.captures)
      device.captures.push_back({AddParameter(c.value), c.array});
    Loc loc = Loc::Unknown();
    for (const ir::Instruction& i : from_.instructions) LowerInstruction(i, loc = i.loc);
    for (ir::ValueId v : from_.outputs) device.outputs.push_back(CopiedToEach(map_[v], loc));
  }

  // Lowers a program without lines of its own.
  std::vector<ir::ValueId> LowerInner(const std::vector<ir::ValueId>& operands, Loc loc) {
    for (size_t i = 0; i < operands.size(); ++i) map_[from_.inputs[i]] = operands[i];
    for (const ir::Instruction& i : from_.instructions) LowerInstruction(i, loc);
    std::vector<ir::ValueId> values;
    for (ir::ValueId v : from_.outputs) values.push_back(map_[v]);
    return values;
  }

 private:
  ir::ValueId AddParameter(ir::ValueId v) {
    return map_[v] = draft_.AddValue(PlaceIn(from_, v)->WithWeak(false), from_.values[v].loc);
  }

  void LowerInstruction(const ir::Instruction& instruction, Loc loc) {
    std::vector<const ir::Type*> results;
    for (ir::ValueId v : instruction.results) results.push_back(PlaceIn(from_, v));
    std::vector<ir::ValueId> operands;
    for (ir::ValueId v : instruction.operands) operands.push_back(map_[v]);
    const std::vector<ir::ValueId> values = Lower(instruction, operands, results, loc);
    for (size_t k = 0; k < values.size(); ++k) map_[instruction.results[k]] = values[k];
  }

  // Returns the results on devices.
  std::vector<ir::ValueId> Lower(const ir::Instruction& instruction,
                                 const std::vector<ir::ValueId>& operands,
                                 const std::vector<const ir::Type*>& results, Loc loc) {
    const ir::Lowering& lowering = *instruction.op->lowering;
    if (const auto* move = std::get_if<ir::AsMove>(&lowering))
      return {LowerMove(instruction, *move, operands[0], results[0], loc)};
    if (const auto* expand = std::get_if<ir::AsExpansion>(&lowering))
      return emitter_.Expand(expand->expand, instruction.params.get(), operands, results[0], loc);
    if (std::holds_alternative<ir::AsHostCall>(lowering)) {
      Emit(instruction, instruction.params, operands, {}, {}, loc);
      return {};
    }
    if (const auto* manual = std::get_if<ir::AsManualMove>(&lowering))
      return {LowerManualMove(instruction, *manual, operands[0], results[0], loc)};
    if (std::holds_alternative<ir::AsPermute>(lowering))
      return {LowerPermute(instruction, operands[0], loc)};
    if (std::holds_alternative<ir::AsIota>(lowering) &&
        !std::holds_alternative<ir::DimMapFn>(*instruction.op->dims)) {
      const ir::ValueId index = draft_.AddValue(results[0]->WithWeak(false), loc);
      Emit(instruction, instruction.params, {}, {index}, {}, loc);
      return {index};
    }
    if (std::holds_alternative<ir::AsRegions>(lowering))
      return LowerRegions(instruction, operands, results, loc);
    return emitter_.Emit({.instruction = instruction,
                          .operands = operands,
                          .results = results,
                          .asked = AskedAt(instruction),
                          .halo = HaloFormOf(instruction)},
                         loc);
  }

  const AskedMoves::mapped_type* AskedAt(const ir::Instruction& instruction) const {
    if (asked_.empty()) return nullptr;
    const auto it = asked_.find(instruction.results[0]);
    return it == asked_.end() ? nullptr : &it->second;
  }
  HaloForm HaloFormOf(const ir::Instruction& instruction) {
    if (staged_.contains(instruction.results[0])) return HaloForm::kStages;
    if (read_otherwise_.empty()) read_otherwise_ = ReadOtherwise(from_);
    return read_otherwise_[instruction.results[0]] ? HaloForm::kWhole : HaloForm::kEdges;
  }

  ir::ValueId LowerMove(const ir::Instruction& instruction, const ir::AsMove& move, ir::ValueId v,
                        const ir::Type* to, Loc loc) {
    if (!move.implied) return emitter_.Reshard(v, to, MoveCause::kAsked, loc);
    const AskedMoves::mapped_type* asked = AskedAt(instruction);
    const std::optional<Loc> line = asked && !asked->empty() ? (*asked)[0] : std::nullopt;
    return emitter_.Reshard(v, to, line ? MoveCause::kAsked : MoveCause::kImplied,
                            line.value_or(loc));
  }

  // A move between two views over Manual axes. Along the other axes the result is laid out like the
  // operand, until it is resharded to its place.
  ir::ValueId LowerManualMove(const ir::Instruction& instruction, const ir::AsManualMove& manual,
                              ir::ValueId v, const ir::Type* result, Loc loc) {
    const ir::Type* place = draft_.Place(v);
    const ir::ManualViews views = manual.views(instruction.params.get(), place, result);
    // A view of shards exists only if the other axes of a dim divide the shard.
    if (IsUneven(views.from) || IsUneven(views.to))
      if (const ir::Type* whole = Whole(place); whole != place) {
        v = emitter_.reshards().Emit(v, whole, MoveCause::kImplied, loc);
        return LowerManualMove(instruction, manual, v, result, loc);
      }
    const auto cause = manual.implied ? MoveCause::kImplied : MoveCause::kAsked;
    v = emitter_.Reshard(SeenAs(v, views.from, loc), views.to, cause, loc);
    const sharding::TensorSharding& to = views.to->sharding();
    if (to == result->sharding()) return SeenAs(v, result, loc);
    sharding::TensorSharding inside = result->sharding();
    const sharding::AxisList axes =
        ops::AxesOf(to.mesh, ir::As<ops::ManualParams>(instruction.params.get()).axes);
    for (size_t d = 0; d < inside.dims.size(); ++d)
      inside.dims[d].axes = sharding::Difference(to.dims[d].axes, axes);
    v = SeenAs(v, result->WithSharding(std::move(inside)), loc);
    return emitter_.Reshard(v, result, MoveCause::kImplied, loc);
  }

  // Returns v with another place that has the same shards. Where devices share one array, the
  // new place may give each device its own; the array is not copied until the arrays must differ
  // (see CopiedToEach).
  ir::ValueId SeenAs(ir::ValueId v, const ir::Type* place, Loc loc) {
    return emitter_.reshards().EmitStep(ops::kSeenAs, v, place->WithWeak(false), {}, loc);
  }

  // Returns v with a real copy for each device that, by the place of v, has its own array.
  ir::ValueId CopiedToEach(ir::ValueId v, Loc loc) {
    const ir::Type *place = draft_.Place(v), *root = draft_.Place(draft_.RootOf(v));
    if (sharding::VaryingAxes(root->sharding()) == sharding::VaryingAxes(place->sharding()))
      return v;
    const ir::ValueId own = draft_.AddValue(place, loc);
    draft_.Emit({.op = &ops::kCopyToEach,
                 .params = ir::MakeParams(ir::MoveParams{.from = place, .to = place}),
                 .operands = {v},
                 .results = {own},
                 .loc = loc,
                 .cost = Costing({})});
    return own;
  }

  ir::ValueId LowerPermute(const ir::Instruction& instruction, ir::ValueId v, Loc loc) {
    const ir::Type* place = draft_.Place(v);
    const auto& params = ir::As<ops::PermuteParams>(instruction.params.get());
    const bool moves =
        absl::c_any_of(params.pairs, [](const auto& pair) { return pair[0] != pair[1]; });
    const int64_t bytes =
        base::BytesOf(sharding::LocalElements(place->shape(), place->sharding()), place->dtype());
    const ir::ValueId next = draft_.AddValue(place, loc);
    Emit(instruction, instruction.params, {v}, {next},
         {.bytes = moves ? bytes : 0,
          .axes = ops::AxesOf(place->mesh(), params.axes),
          .implied = false},
         loc);
    return next;
  }

  // All ends of a data-flow edge have one type, so nothing moves at the border of a region.
  std::vector<ir::ValueId> LowerRegions(const ir::Instruction& instruction,
                                        const std::vector<ir::ValueId>& operands,
                                        const std::vector<const ir::Type*>& results, Loc loc) {
    std::vector<ir::Program> regions;
    const Constants constants = ConstantsOf(instruction);
    for (const ir::RegionPtr& region : instruction.regions) {
      const bool hoists = constants.repeats && region == instruction.regions.back();
      regions.push_back(lower_region_(region, hoists ? constants.count : 0));
    }
    std::vector<ir::ValueId> ins, outs;
    for (ir::ValueId v : operands) ins.push_back(CopiedToEach(v, loc));
    ir::ParamsPtr params = Hoist(instruction, regions, ins, draft_, emitter_);
    for (const ir::Type* t : results) outs.push_back(draft_.AddValue(t->WithWeak(false), loc));
    ir::Instruction& made = Emit(instruction, std::move(params), ins, outs, {}, loc);
    for (ir::Program& region : regions) made.regions.push_back(ir::Shared(std::move(region)));
    return outs;
  }

  ir::Instruction& Emit(const ir::Instruction& instruction, ir::ParamsPtr params,
                        absl::Span<const ir::ValueId> ins, absl::Span<const ir::ValueId> outs,
                        ir::Cost cost, Loc loc) {
    return draft_.Emit({.op = instruction.op,
                        .params = std::move(params),
                        .operands = {ins.begin(), ins.end()},
                        .results = {outs.begin(), outs.end()},
                        .loc = loc,
                        .cost = Costing(std::move(cost))});
  }

  const ir::Program& from_;
  const AskedMoves& asked_;
  const RegionLowering lower_region_;
  Draft& draft_;
  OpEmitter& emitter_;
  ValueMap map_;
  absl::flat_hash_set<ir::ValueId> staged_;           // halo exchanges that are done dim by dim
  base::IdVector<ir::ValueId, bool> read_otherwise_;  // see ReadOtherwise
};

}  // namespace

ir::Program Partition(const ir::Program& program, const AskedMoves& asked,
                      RegionLowering lower_region) {
  Draft draft;
  draft.program.mesh = program.mesh;
  draft.program.per_device = true;
  const AskedMoves none;
  std::optional<OpEmitter> emitter;
  emitter.emplace(draft, program.mesh ? program.mesh->WithoutModes() : nullptr,
                  [&](const ir::Program& inner, const std::vector<ir::ValueId>& operands, Loc loc) {
                    return ProgramLowering(inner, none, lower_region, draft, *emitter)
                        .LowerInner(operands, loc);
                  });
  ProgramLowering(program, asked, lower_region, draft, *emitter).LowerProgram();
  return std::move(draft.program);
}

}  // namespace tessera::spmd

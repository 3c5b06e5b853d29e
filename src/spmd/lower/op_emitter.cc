// Emits partitioned ops, and rematerialises parts of values.
#include "spmd/lower/op_emitter.h"

#include <absl/algorithm/container.h>

#include <memory>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/move_params.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "sharding/local.h"
#include "spmd/local_type.h"
#include "spmd/lower/halo_writer.h"
#include "spmd/lower/loop_regions.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using sharding::StepKind;

bool IsPlain(const ir::Type* place) {
  return place->sharding().unreduced.empty() && place->sharding().varying.empty();
}

// Whether every device has all operands from which v is computed, and so can compute any part
// of it.
bool IsMadeAnywhere(const Draft& draft, ir::ValueId v, int depth = 0) {
  constexpr int kShallow = 4;
  const ir::Type* place = draft.Place(v);
  if (sharding::VaryingAxes(place->sharding()).empty()) return true;
  const Draft::Origin* origin = draft.OriginOf(v);
  if (!origin || !origin->is_light || !IsPlain(place) || depth == kShallow) return false;
  return absl::c_all_of(draft.MakerOf(*origin).operands,
                        [&](ir::ValueId w) { return IsMadeAnywhere(draft, w, depth + 1); });
}

// Returns how many leading dims of a large array are its rows, if its reduction to a number is
// done by rows first, so that all cores work; else 0. Sums of small floats would be rounded row by
// row.
int64_t RowDims(const ir::Type* place, const ir::Type* local) {
  constexpr int64_t kLarge = 1 << 18, kLeastRows = 64, kLeastRow = 512;
  if (local->elements() < kLarge || place->dtype().size() < 4 ||
      !sharding::VaryingAxes(place->sharding()).empty())
    return 0;
  int64_t rows = 1, outer = 0;
  while (outer + 1 < place->rank() && rows < kLeastRows) rows *= base::At(local->shape(), outer++);
  return rows < kLeastRows || local->elements() / rows < kLeastRow ? 0 : outer;
}

ir::ParamsPtr DimsBetween(int64_t begin, int64_t end) {
  ops::DimsParams dims;
  for (int64_t d = begin; d < end; ++d) dims.dims.push_back(d);
  return ir::MakeParams(std::move(dims));
}

}  // namespace

// ---- partitioned ops ----

std::vector<ir::ValueId> OpEmitter::Emit(const OpCall& call, Loc loc) {
  return Emit(call, Purpose::kProgram, loc);
}

std::vector<ir::ValueId> OpEmitter::Emit(const OpCall& call, Purpose purpose, Loc loc) {
  OpCall local = call;
  if (std::holds_alternative<ir::AsElementwise>(*call.instruction.op->lowering))
    TakeScalars(local.operands);
  std::vector<const ir::Type*> places;
  for (ir::ValueId v : local.operands) places.push_back(draft_.Place(v));
  // This pointer keeps the decision: ops that are emitted for the operands may make the memo
  // forget it.
  const std::shared_ptr<const Decision> decision =
      DecisionOn(call.instruction, places, call.results);
  if (decision->expands) return EmitSharded(local, *decision, loc);
  std::vector<ir::ValueId> outs = EmitKernel(local, *decision, loc);
  const size_t operands = local.operands.size();
  for (size_t k = 0; k < outs.size(); ++k)
    outs[k] = purpose == Purpose::kPart
                  ? reshards_.Emit(outs[k], call.results[k], MoveCause::kImplied, loc)
                  : ReshardAsAsked(outs[k], call.results[k], call, operands + k, loc);
  return outs;
}

// The op has an expansion of its own for sharded operands.
std::vector<ir::ValueId> OpEmitter::EmitSharded(const OpCall& call, const Decision& decision,
                                                Loc loc) {
  std::vector<ir::ValueId> operands;
  for (size_t k = 0; k < call.operands.size(); ++k)
    operands.push_back(ReshardAsAsked(call.operands[k], decision.operands[k], call, k, loc));
  const auto& kernel = std::get<ir::AsKernel>(*call.instruction.op->lowering);
  std::vector<ir::ValueId> outs =
      Expand(kernel.sharded, call.instruction.params.get(), operands, call.results[0], loc);
  for (size_t k = 0; k < outs.size(); ++k)
    outs[k] = ReshardAsAsked(outs[k], call.results[k], call, call.operands.size() + k, loc);
  return outs;
}

// Returns results in the places in which the op leaves them.
std::vector<ir::ValueId> OpEmitter::EmitKernel(const OpCall& call, const Decision& decision,
                                               Loc loc) {
  absl::InlinedVector<ir::ValueId, 3> ins;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    ins.push_back(ReshardAsAsked(call.operands[k], decision.operands[k], call, k, loc));
    if (decision.masks[k])
      ins[k] = Expand(MaskOp(), decision.masks[k].get(), {ins[k]}, decision.operands[k], loc)[0];
  }
  for (size_t k = 0; k < decision.views.size(); ++k)
    if (decision.views[k].halo) ins[k] = EmitView(decision.views[k], ins[k], loc);
  std::vector<ir::ValueId> outs;
  for (const ir::Type* left : decision.results) outs.push_back(draft_.AddValue(left, loc));
  if (decision.halo) {
    if (!EmitHalo(call, decision, ins, outs[0], loc))
      EmitOp(OpOf(StepKind::kHaloExchange), decision.halo, ins, outs, decision.cost, loc);
  } else if (!EmitReduction(call, decision, ins, outs[0], loc)) {
    const ir::ParamsPtr& params = decision.params ? decision.params : call.instruction.params;
    EmitOp(*call.instruction.op, params, ins, outs, decision.cost, loc);
  }
  return outs;
}

ir::ValueId OpEmitter::EmitView(const Decision::OperandView& view, ir::ValueId v, Loc loc) {
  const ir::Type* outside = ir::As<ir::HaloParams>(view.halo.get()).from[1];
  const ir::ValueId element = draft_.AddValue(outside, loc), out = draft_.AddValue(view.place, loc);
  EmitOp(ops::kConstant, view.outside, {}, {element}, Costing({}), loc);
  EmitOp(OpOf(StepKind::kHaloExchange), view.halo, {v, element}, {out}, view.cost, loc);
  return out;
}

// Whether the exchange was emitted in parts.
bool OpEmitter::EmitHalo(const OpCall& call, const Decision& decision,
                         absl::Span<const ir::ValueId> ins, ir::ValueId out, Loc loc) {
  if (call.halo == HaloForm::kWhole || decision.results[0] != call.results[0]) return false;
  const auto& halo = ir::As<ir::HaloParams>(decision.halo.get());
  HaloWriter writer(draft_, loc);
  if (call.halo == HaloForm::kEdges) return writer.EmitEdges(halo, decision.cost, ins, out);
  writer.EmitStages(halo, ins, out);
  return true;
}

// Whether the op is a reduction that was emitted in another way: as a view if it reduces one
// element each, or by rows first.
bool OpEmitter::EmitReduction(const OpCall& call, const Decision& decision,
                              absl::Span<const ir::ValueId> ins, ir::ValueId out, Loc loc) {
  const ir::OpDef& op = *call.instruction.op;
  if (!std::holds_alternative<ir::AsReduction>(*op.lowering)) return false;
  const ir::Type *place = draft_.Place(ins[0]), *local = LocalType(place);
  if (local->elements() == LocalType(draft_.Place(out))->elements()) {
    EmitOp(ops::kReshape, nullptr, ins, {out}, decision.cost, loc);
    return true;
  }
  const int64_t outer = draft_.Place(out)->rank() == 0 ? RowDims(place, local) : 0;
  if (outer == 0) return false;
  sharding::TensorSharding s = place->sharding();
  s.dims.resize(base::Size(outer));
  const base::Shape shape(local->shape().begin(), local->shape().begin() + outer);
  const ir::ValueId rows = draft_.AddValue(ir::Type::Get(shape, place->dtype(), std::move(s)), loc);
  EmitOp(op, DimsBetween(outer, place->rank()), ins, {rows}, decision.cost, loc);
  EmitOp(op, DimsBetween(0, outer), {rows}, {out}, Costing({}), loc);
  return true;
}

// Reshards v, the k-th value of the operands followed by the results, as the user asked.
ir::ValueId OpEmitter::ReshardAsAsked(ir::ValueId v, const ir::Type* to, const OpCall& call,
                                      size_t k, Loc loc) {
  std::optional<Loc> asked;
  if (call.asked && k < call.asked->size()) asked = (*call.asked)[k];
  return Reshard(v, to, asked ? MoveCause::kAsked : MoveCause::kImplied, asked.value_or(loc));
}

// Elementwise ops repeat scalars themselves, without memory. One operand keeps the shape.
void OpEmitter::TakeScalars(std::vector<ir::ValueId>& operands) const {
  std::vector<ir::ValueId> taken;
  for (ir::ValueId v : operands) taken.push_back(draft_.ScalarOf(v).value_or(v));
  if (absl::c_any_of(taken, [&](ir::ValueId v) { return !draft_.Place(v)->shape().empty(); }))
    operands = std::move(taken);
}

void OpEmitter::EmitOp(const ir::OpDef& op, ir::ParamsPtr params, absl::Span<const ir::ValueId> ins,
                       absl::Span<const ir::ValueId> outs, ir::CostPtr cost, Loc loc) {
  draft_.Emit({.op = &op,
               .params = std::move(params),
               .operands = {ins.begin(), ins.end()},
               .results = {outs.begin(), outs.end()},
               .loc = loc,
               .cost = std::move(cost)});
}

std::vector<ir::ValueId> OpEmitter::Expand(ir::ExpandFn expand, const ir::Params* params,
                                           const std::vector<ir::ValueId>& operands,
                                           const ir::Type* result, Loc loc) {
  ir::Program inner;
  inner.mesh = mesh_;
  for (ir::ValueId v : operands) inner.inputs.push_back(inner.AddValue(draft_.Place(v), loc));
  ir::Builder builder(inner, loc);
  inner.outputs = expand(builder, params, inner.inputs, result);
  return lower_inner_(inner, operands, loc);
}

// ---- reshards and parts ----

ir::ValueId OpEmitter::Reshard(ir::ValueId v, const ir::Type* to, MoveCause cause, Loc loc) {
  const ir::Type* from = draft_.Place(v);
  if (from == to || from->sharding() == to->sharding()) return v;
  if (const std::optional<ir::ValueId> part = Rematerialised(v, to)) return *part;
  return reshards_.Emit(v, to, cause, loc);
}

// Returns the part of v, or nothing if the part must be sliced out of v.
std::optional<ir::ValueId> OpEmitter::Rematerialised(ir::ValueId v, const ir::Type* to) {
  const Draft::Origin* origin = draft_.OriginOf(v);
  if (!origin) return {};
  const ir::Instruction& maker = draft_.MakerOf(*origin);
  if (!origin->is_light && !IsSlice(maker)) return {};
  if (const auto it = parts_.find({v, to}); it != parts_.end()) return it->second;
  if (!reshards_.OnlySlices(draft_.Place(v), to) && !(IsMadeAnywhere(draft_, v) && IsPlain(to)))
    return {};
  if (IsSlice(maker)) return Rematerialised(maker.operands[0], to);
  if (maker.results.size() != 1 || depth_ == kDeepest) return {};
  const ir::Instruction copy = maker;  // the list grows
  ++depth_;
  const ir::ValueId part = EmitPart(copy, to);
  --depth_;
  parts_.emplace(std::pair(v, to), part);
  return part;
}

ir::ValueId OpEmitter::EmitPart(const ir::Instruction& maker, const ir::Type* to) {
  std::vector<ir::ValueId> operands(maker.operands.begin(), maker.operands.end());
  const auto* kernel = std::get_if<ir::AsKernel>(&*maker.op->lowering);
  if (kernel && kernel->of_scalar)
    if (const std::optional<ir::ValueId> scalar = draft_.ScalarOf(operands[0])) {
      operands[0] = *scalar;
      return Expand(kernel->of_scalar, maker.params.get(), operands, to, maker.loc)[0];
    }
  const OpCall call{.instruction = maker, .operands = std::move(operands), .results = {to}};
  return Emit(call, Purpose::kPart, maker.loc)[0];
}

}  // namespace tessera::spmd

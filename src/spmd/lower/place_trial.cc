// Adds up the costs of moves and ops in the places of a trial.
#include "spmd/lower/place_trial.h"

#include <absl/algorithm/container.h>

#include "sharding/local.h"
#include "sharding/reshard.h"
#include "spmd/local_type.h"

namespace tessera::spmd {

using ir::Instruction;
using ir::InstructionId;
using ir::Type;
using ir::ValueId;

bool IsReshard(const Instruction& i) { return std::holds_alternative<ir::AsMove>(*i.op->lowering); }
bool IsElementwise(const Instruction& i) {
  return std::holds_alternative<ir::AsElementwise>(*i.op->lowering);
}
bool IsPartitioned(const Instruction& i) {
  const ir::Lowering& l = *i.op->lowering;
  return IsElementwise(i) || std::holds_alternative<ir::AsKernel>(l) ||
         std::holds_alternative<ir::AsReduction>(l) || std::holds_alternative<ir::AsBroadcast>(l) ||
         std::holds_alternative<ir::AsView>(l);
}
bool IsPlainSharding(const sharding::TensorSharding& s) {
  return s.unreduced.empty() && s.varying.empty();
}

// ---- uses ----

ValueUses::ValueUses(const ir::Program& program, size_t steady)
    : maker_(program.values.size(), ir::kNoInstruction),
      steady_(program.values.size()),
      ranges_(program.values.size()),
      any_steady_(steady > 0) {
  for (size_t k = 0; k < steady; ++k) steady_[program.inputs[k]] = true;
  for (InstructionId id : InstructionIds(program)) {
    const Instruction& i = InstructionAt(program, id);
    const bool is_steady = HasSteadyOperands(i);
    for (ValueId v : i.results) steady_[v] = is_steady;
    for (ValueId v : i.results) maker_[v] = id;
    for (ValueId v : i.operands) ++ranges_[v].count;
  }
  size_t sum = 0;
  for (UserRange& range : ranges_) {
    range.first = sum;
    sum += std::exchange(range.count, 0);
  }
  users_.resize(sum);
  for (InstructionId id : InstructionIds(program))
    for (ValueId v : InstructionAt(program, id).operands) {
      UserRange& range = ranges_[v];
      users_[range.first + range.count++] = id;
    }
}

absl::Span<const InstructionId> ValueUses::users(ValueId v) const {
  return absl::MakeConstSpan(users_).subspan(ranges_[v].first, ranges_[v].count);
}

bool ValueUses::HasSteadyOperands(const Instruction& i) const {
  return any_steady_ && i.op->effect == ir::Effect::kNone && i.regions.empty() &&
         absl::c_all_of(i.operands, [&](ValueId v) { return is_steady(v); });
}

// ---- places ----

PlaceTrial::PlaceTrial(const ir::Program& program, const ValueUses& uses)
    : program_(program),
      uses_(uses),
      places_(program.values.size(), nullptr),
      visited_(program.instructions.size(), 0),
      visited_values_(program.values.size(), 0) {
  for (ValueId v : places_.ids()) {
    places_[v] = PlaceIn(program, v);
    if (!mesh_) mesh_ = places_[v]->mesh();
  }
  for (ValueId v : places_.ids()) places_[v] = TypedPlace(v);
}

const Type* PlaceTrial::TypedPlace(ValueId v) const {
  const Type* place = PlaceIn(program_, v);
  return place->mesh() ? place : Type::Get(place->shape(), place->dtype(), mesh_);
}

std::vector<InstructionId> PlaceTrial::Around(const std::vector<ValueId>& values) {
  std::vector<InstructionId> around;
  ++visit_;
  const auto add = [&](InstructionId i) {
    if (std::exchange(visited_[i], visit_) != visit_) around.push_back(i);
  };
  // Adds the instruction, and the others that may move its operands to the same places.
  const auto add_with_sharers = [&](InstructionId i) {
    add(i);
    for (ValueId v : InstructionAt(program_, i).operands) {
      // Moving a value that every device has costs nothing.
      if (sharding::VaryingAxes(sharding(v)).empty() ||
          std::exchange(visited_values_[v], visit_) == visit_)
        continue;
      for (InstructionId user : uses_.users(v))
        if (around.size() <= kMostInstructions) add(user);
    }
  };
  for (ValueId v : values) {
    add_with_sharers(uses_.maker(v));
    for (InstructionId user : uses_.users(v))
      if (around.size() <= kMostInstructions) add_with_sharers(user);
  }
  absl::c_sort(around);
  return around;
}

std::shared_ptr<const Decision> PlaceTrial::DecisionOf(const Instruction& i) {
  const auto split = splits_.find(i.results[0]);
  if (split == splits_.end()) return CheapestDecisionOn(i);
  operands_.clear();
  for (ValueId v : i.operands) operands_.push_back(PlaceForUser(i, v));
  return split->second;
}

std::shared_ptr<const Decision> PlaceTrial::CheapestDecisionOn(const Instruction& i) {
  operands_.clear();
  results_.clear();
  for (ValueId v : i.operands) operands_.push_back(PlaceForUser(i, v));
  for (ValueId v : i.results) results_.push_back(place(v));
  return DecisionOn(i, operands_, results_);
}

bool PlaceTrial::LosesSplit(const Instruction& i) {
  if (i.results.empty()) return false;
  const auto split = splits_.find(i.results[0]);
  if (split == splits_.end()) return false;
  const std::shared_ptr<const Decision> cheapest = CheapestDecisionOn(i);
  return cheapest->operands != split->second->operands ||
         cheapest->results != split->second->results;
}

// Elementwise ops repeat scalars themselves: their operand is then the scalar.
const Type* PlaceTrial::PlaceForUser(const Instruction& user, ValueId v) const {
  const InstructionId maker = uses_.maker(v);
  if (!IsElementwise(user) || user.operands.size() < 2 || maker == ir::kNoInstruction)
    return place(v);
  const Instruction& made = InstructionAt(program_, maker);
  const bool repeats_scalar = std::holds_alternative<ir::AsBroadcast>(*made.op->lowering) &&
                              place(made.operands[0])->shape().empty() &&
                              IsPlainSharding(sharding(made.operands[0])) &&
                              IsPlainSharding(sharding(v));
  return place(repeats_scalar ? made.operands[0] : v);
}

// ---- costs ----

std::optional<PlaceCost> PlaceTrial::CostOf(const std::vector<InstructionId>& instructions) {
  PlaceCost cost;
  moved_.clear();
  for (InstructionId i : instructions)
    if (!AddCostOf(InstructionAt(program_, i), cost)) return {};
  return cost;
}

// Adds the cost of an instruction. Returns false if it is unknown.
bool PlaceTrial::AddCostOf(const Instruction& i, PlaceCost& cost) {
  if (IsReshard(i)) {
    AddMove(i.operands[0], place(i.operands[0]), place(i.results[0]), cost);
    return true;
  }
  if (!IsPartitioned(i)) return true;  // its operands have the places of their types
  const std::shared_ptr<const Decision> decision = DecisionOf(i);
  if (decision->expands) return false;
  for (size_t k = 0; k < i.operands.size(); ++k)
    AddMove(i.operands[k], operands_[k], decision->operands[k], cost);
  if (decision->cost->bytes > 0 && !uses_.HasSteadyOperands(i)) {
    cost.bytes += decision->cost->bytes;
    ++cost.collectives;
  }
  for (const Decision::OperandView& view : decision->views) {
    if (!view.halo || view.cost->bytes == 0 || uses_.HasSteadyOperands(i)) continue;
    cost.bytes += view.cost->bytes;
    ++cost.collectives;
  }
  cost.work += decision->cost->flops;
  for (size_t k = 0; k < i.results.size(); ++k) {
    const Type* left = decision->results[k];
    if (!uses_.is_steady(i.results[k])) AddSteps(left, place(i.results[k]), cost);
    cost.work += static_cast<double>(sharding::LocalElements(left->shape(), left->sharding()));
  }
  return true;
}

void PlaceTrial::AddMove(ValueId v, const Type* from, const Type* to, PlaceCost& cost) {
  if (from == to || uses_.is_steady(v) || !moved_.insert({v, to}).second) return;
  AddSteps(from, to, cost);
}

void PlaceTrial::AddSteps(const Type* from, const Type* to, PlaceCost& cost) {
  const Sent sent = Between(from, to);
  cost.bytes += sent.bytes;
  cost.collectives += sent.collectives;
}

PlaceTrial::Sent PlaceTrial::Between(const Type* from, const Type* to) {
  if (from == to || from->sharding() == to->sharding()) return {};
  const auto [it, is_new] = steps_.try_emplace(std::pair(from, to));
  Sent& sent = it->second;
  if (is_new)
    for (const sharding::ReshardStep& step :
         sharding::PlanReshard(from->shape(), sharding::ItemSize::OfBits(from->dtype().bits()),
                               from->sharding(), to->sharding()))
      if (step.bytes > 0) sent = {sent.bytes + step.bytes, sent.collectives + 1};
  return sent;
}

// ---- moves ----

std::vector<TriedMove> PlaceTrial::MovesAt(const Instruction& i) {
  if (IsReshard(i)) return {{place(i.operands[0]), place(i.results[0])}};
  if (!IsPartitioned(i)) return {};
  const std::shared_ptr<const Decision> decision = DecisionOf(i);
  if (decision->expands) return {};
  std::vector<TriedMove> moves;
  for (size_t k = 0; k < i.operands.size(); ++k)
    moves.push_back({operands_[k], decision->operands[k]});
  for (size_t k = 0; k < i.results.size(); ++k)
    moves.push_back({decision->results[k], place(i.results[k])});
  return moves;
}

std::vector<TriedMove> PlaceTrial::TypedMovesAt(const Instruction& i) {
  std::vector<std::pair<ValueId, const Type*>> tried;
  const auto set_typed = [&](ValueId v) {
    tried.emplace_back(v, std::exchange(places_[v], TypedPlace(v)));
  };
  absl::c_for_each(i.operands, set_typed);
  absl::c_for_each(i.results, set_typed);
  std::vector<TriedMove> moves = MovesAt(i);
  // Last first: an operand may be there twice.
  for (; !tried.empty(); tried.pop_back()) places_[tried.back().first] = tried.back().second;
  return moves;
}

}  // namespace tessera::spmd

// Finds linear ops of reduced operands, first to last, so that a sum of many terms is reduced once.
#include "spmd/join.h"

#include "base/at.h"
#include "ir/infer.h"
#include "ir/move_params.h"
#include "spmd/local_type.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

bool Reduces(const Instruction& i) {
  return i.op == &OpOf(StepKind::kAllReduce) || i.op == &OpOf(StepKind::kReduceScatter);
}

bool SameMove(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.params->Equals(*b.params);
}

class Joiner {
 public:
  explicit Joiner(ir::Program& device)
      : program_(device), made_by_(device.values.size(), -1), uses_(device.values.size()) {
    for (ValueId v : device.outputs) ++base::At(uses_, v);
    for (const Instruction& i : device.instructions)
      for (ValueId v : i.operands) ++base::At(uses_, v);
  }

  void Run() {
    std::vector<Instruction> from = std::move(program_.instructions);
    program_.instructions.clear();
    for (Instruction& i : from) {
      if (Joins(i)) {
        Join(i);
        continue;
      }
      Note(i);
      program_.instructions.push_back(std::move(i));
    }
  }

 private:
  void Note(const Instruction& i) {
    if (!Reduces(i)) return;
    made_by_.resize(program_.values.size(), -1);
    base::At(made_by_, i.results[0]) = static_cast<int32_t>(program_.instructions.size());
  }
  // The reduction that makes a value which is read once; null if there is none.
  const Instruction* ReductionOf(ValueId v) const {
    const int32_t at = base::At(made_by_, v);
    if (at < 0 || base::At(uses_, v) != 1) return nullptr;
    return &base::At(program_.instructions, at);
  }

  // Whether the op is jointly linear in its operands, and all are reduced alike.
  bool Joins(const Instruction& i) const {
    if (!std::holds_alternative<ir::AsElementwise>(*i.op->lowering) || i.operands.size() < 2)
      return false;
    const Instruction* first = ReductionOf(i.operands[0]);
    for (ValueId v : i.operands) {
      const Instruction* made = ReductionOf(v);
      if (!made || !SameMove(*made, *first)) return false;
    }
    absl::InlinedVector<const ir::Type*, 3> places;
    for (ValueId v : i.operands) places.push_back(program_.place(v));
    const ir::Type* result = program_.place(i.results[0]);
    const auto& move = ir::As<ir::MoveParams>(first->params.get());
    if (result != move.to) return false;
    for (const sharding::LinearGroup& group :
         ir::LinearGroupsOf(*i.op, i.params, places, {&result, 1}))
      if (group.operands.size() == i.operands.size() && group.kinds.has(move.from->sharding().kind))
        return true;
    return false;
  }

  void Join(Instruction& i) {
    ir::Cost cost{};
    Instruction move{.op = nullptr, .params = {}, .operands = {}, .results = {}, .loc = i.loc};
    for (ValueId& v : i.operands) {
      const Instruction* made = ReductionOf(v);
      const bool implied = (!move.op || cost.implied) && made->cost->implied;
      cost = *made->cost;
      cost.implied = implied;
      move.op = made->op;
      move.params = made->params;
      v = made->operands[0];
    }
    const ir::Type* partial = ir::As<ir::MoveParams>(move.params.get()).from;
    move.results = i.results;
    i.results = {program_.AddValue(LocalType(partial), i.loc, partial)};
    uses_.resize(program_.values.size(), 1);
    move.operands = {i.results[0]};
    move.cost = std::make_shared<const ir::Cost>(std::move(cost));
    program_.instructions.push_back(std::move(i));
    Note(move);
    program_.instructions.push_back(std::move(move));
  }

  ir::Program& program_;
  std::vector<int32_t> made_by_;  // per value: the reduction, or -1
  std::vector<int> uses_;         // per value
};

}  // namespace

void JoinReductions(ir::Program& device) { Joiner(device).Run(); }

}  // namespace tessera::spmd

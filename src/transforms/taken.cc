// Excludes the lanes that do not take a branch from its derivatives.
#include "transforms/taken.h"

#include <absl/algorithm/container.h>

#include "base/at.h"
#include "ir/infer.h"
#include "ops/expression.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/tangents.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;
using ops::X;

bool HaveTangents(ir::Types types) { return absl::c_any_of(types, ops::HasTangent); }

// Whether a cotangent can pass the instruction.
bool HasDerivative(const Taken::BranchCall& i) {
  return !std::holds_alternative<ir::NotDifferentiable>(*i.from.op->diff);
}

bool IsMove(const ir::OpDef& op) {
  return std::holds_alternative<ir::AsMove>(*op.lowering) ||
         std::holds_alternative<ir::AsManualMove>(*op.lowering) ||
         std::holds_alternative<ir::AsPermute>(*op.lowering);
}

// The operands in which an instruction is linear.
struct LinearIn {
  explicit LinearIn(const Taken::BranchCall& i) : group_of(i.from.operands.size(), -1) {
    if (IsMove(*i.from.op)) group_of.assign(group_of.size(), 0);
    const auto& groups =
        ir::LinearGroupsOf(*i.from.op, i.from.params, i.operand_types, i.result_types);
    for (size_t g = 0; g < groups.size(); ++g)
      for (int32_t k : groups[g].operands) base::At(group_of, k) = static_cast<int>(g);
    for (size_t k = 0; k < group_of.size(); ++k) {
      if (!ops::HasTangent(i.operand_types[k])) continue;
      in_each &= group_of[k] >= 0;
      jointly &= group_of[k] == 0;
    }
  }
  // Per operand: the group of operands in which the instruction is jointly linear, -1 if none.
  std::vector<int> group_of;
  bool in_each = true;  // linear in each floating operand alone
  bool jointly = true;  // linear in all floating operands together
};

}  // namespace

ValueId LanesOfBranch(ir::Builder& builder, ValueId index, size_t k, size_t last) {
  const X x(builder, index);
  if (x.type()->dtype().is_bool())
    return k == 0 ? index : ops::Apply(plan::ScalarOp::kNot, {x}).id();
  const auto number = [&](size_t n) { return x.Number(static_cast<double>(n)); };
  if (k == 0) return ops::Less(x, number(1)).id();
  if (k == last) return ops::Less(number(k - 1), x).id();
  return ops::Equal(x, number(k)).id();
}

ValueId Taken::And(ValueId some) const {
  return IsAll() ? some : ops::And(X(builder_, lanes_), X(builder_, some)).id();
}

// If no lane takes the branch, the instruction adds zero times its derivative, which may be NaN.
void Taken::CountShared(BranchCall& i) const {
  if (!HasDerivative(i) || !HaveTangents(i.result_types) || LinearIn(i).jointly) return;
  for (size_t k = 0; k < i.operands.size(); ++k)
    if (i.active[k])
      i.operands[k] = ops::CountedWhere(builder_, ops::AnyLane(builder_, lanes_), i.operands[k]);
}

void Taken::CountMixed(BranchCall& i) const {
  if (!HasDerivative(i) || !HaveTangents(i.result_types)) return;
  std::vector<size_t> shared;
  for (size_t k = 0; k < i.operands.size(); ++k)
    if (i.active[k] && !i.mapped[k]) shared.push_back(k);
  if (shared.empty()) return;
  const LinearIn linear(i);
  // A repeated operand of an elementwise op costs nothing: the two fuse.
  if (std::holds_alternative<ir::AsElementwise>(*i.from.op->lowering) || !linear.in_each)
    return GiveToLanes(i);
  for (size_t k = 0; k < i.operands.size(); ++k) {
    const bool multiplies =
        absl::c_any_of(shared, [&](size_t s) { return linear.group_of[s] != linear.group_of[k]; });
    if (!i.mapped[k] || !multiplies || !ops::HasTangent(i.operand_types[k])) continue;
    const ValueId v = i.operands[k];
    i.operands[k] = ops::ByLane(builder_, lanes_, v, ops::Zeros(builder_, builder_.type(v)));
  }
  i.counts_results = true;
}

void Taken::GiveToLanes(BranchCall& i) const {
  for (size_t k = 0; k < i.operands.size(); ++k) {
    if (!i.active[k] || i.mapped[k]) continue;
    i.operands[k] = Counted(ops::Repeated(builder_, i.operands[k], dim_));
    i.mapped[k] = true;
  }
}

}  // namespace tessera::transforms

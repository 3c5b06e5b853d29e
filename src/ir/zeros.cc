// Zeros of a program, found from its constants forward.
#include "ir/zeros.h"

#include <absl/algorithm/container.h>

#include "base/at.h"
#include "ir/infer.h"

namespace tessera::ir {
namespace {

bool GivesZeros(const Program& program, const Instruction& i, const ValueSet& is_zero) {
  if (const auto* constant = std::get_if<AsConstant>(&*i.op->lowering))
    return constant->bits(i.params.get()) == 0;
  const auto zero = [&](ValueId v) { return is_zero[v]; };
  if (!absl::c_any_of(i.operands, zero) || !i.regions.empty()) return false;
  const Lowering& lowering = *i.op->lowering;
  if (std::holds_alternative<AsMove>(lowering) || std::holds_alternative<AsManualMove>(lowering) ||
      std::holds_alternative<AsPermute>(lowering))
    return true;
  absl::InlinedVector<const Type*, 3> operands, results;
  for (ValueId v : i.operands) operands.push_back(program.type(v));
  for (ValueId v : i.results) results.push_back(program.type(v));
  const std::vector<sharding::LinearGroup>& linear =
      LinearGroupsOf(*i.op, i.params, operands, results);
  return absl::c_any_of(linear, [&](const sharding::LinearGroup& g) {
    return g.kinds.sum &&
           absl::c_all_of(g.operands, [&](int32_t k) { return zero(base::At(i.operands, k)); });
  });
}

}  // namespace

ValueSet ZerosOf(const Program& program, ValueSet given) {
  ValueSet is_zero = std::move(given);
  is_zero.resize(program.values.size());
  for (const Instruction& i : program.instructions)
    if (GivesZeros(program, i, is_zero))
      for (ValueId v : i.results) is_zero[v] = true;
  return is_zero;
}

}  // namespace tessera::ir

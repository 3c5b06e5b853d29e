// Zeros of a program, found from its constants forward.
#include "transforms/zeros.h"

#include <absl/algorithm/container.h>

#include "base/at.h"
#include "ir/infer.h"
#include "transforms/types.h"

namespace tessera::transforms {
namespace {

bool GivesZeros(const ir::Program& program, const ir::Instruction& i,
                const base::IdVector<ir::ValueId, bool>& is_zero) {
  if (const auto* constant = std::get_if<ir::AsConstant>(&*i.op->lowering))
    return constant->bits(i.params.get()) == 0;
  const auto zero = [&](ir::ValueId v) { return is_zero[v]; };
  if (!absl::c_any_of(i.operands, zero) || !i.regions.empty()) return false;
  const ir::Lowering& lowering = *i.op->lowering;
  if (std::holds_alternative<ir::AsMove>(lowering) ||
      std::holds_alternative<ir::AsManualMove>(lowering) ||
      std::holds_alternative<ir::AsPermute>(lowering))
    return true;
  const TypesOf types(program, i);
  const std::vector<sharding::LinearGroup>& linear =
      ir::LinearGroupsOf(*i.op, i.params, types.operands, types.results);
  return absl::c_any_of(linear, [&](const sharding::LinearGroup& g) {
    return g.kinds.sum &&
           absl::c_all_of(g.operands, [&](int32_t k) { return zero(base::At(i.operands, k)); });
  });
}

}  // namespace

base::IdVector<ir::ValueId, bool> ZerosOf(const ir::Program& program) {
  base::IdVector<ir::ValueId, bool> is_zero(program.values.size());
  for (const ir::Instruction& i : program.instructions)
    if (GivesZeros(program, i, is_zero))
      for (ir::ValueId v : i.results) is_zero[v] = true;
  return is_zero;
}

}  // namespace tessera::transforms

// Zeros of a program, from its constants forward.
#include "transforms/zeros.h"

#include <algorithm>

#include "base/at.h"
#include "ir/infer.h"
#include "transforms/types.h"

namespace tessera::transforms {
namespace {

bool MakesZero(const ir::Program& program, const ir::Instruction& i,
               const std::vector<bool>& is_zero) {
  if (const auto* constant = std::get_if<ir::AsConstant>(&*i.op->lowering))
    return constant->bits(i.params.get()) == 0;
  const auto zero = [&](ir::ValueId v) { return base::At(is_zero, v); };
  if (!std::any_of(i.operands.begin(), i.operands.end(), zero) || !i.regions.empty()) return false;
  const ir::Lowering& lowering = *i.op->lowering;
  if (std::holds_alternative<ir::AsMove>(lowering) ||
      std::holds_alternative<ir::AsManualMove>(lowering) ||
      std::holds_alternative<ir::AsPermute>(lowering))
    return true;
  const TypesOf types(program, i);
  const std::vector<sharding::LinearGroup>& linear =
      ir::LinearGroupsOf(*i.op, i.params, types.operands, types.results);
  return std::any_of(linear.begin(), linear.end(), [&](const sharding::LinearGroup& g) {
    return g.kinds.sum && std::all_of(g.operands.begin(), g.operands.end(),
                                      [&](int32_t k) { return zero(base::At(i.operands, k)); });
  });
}

}  // namespace

std::vector<bool> ZerosOf(const ir::Program& program) {
  std::vector<bool> is_zero(program.values.size());
  for (const ir::Instruction& i : program.instructions)
    if (MakesZero(program, i, is_zero))
      for (ir::ValueId v : i.results) base::At(is_zero, v) = true;
  return is_zero;
}

}  // namespace tessera::transforms

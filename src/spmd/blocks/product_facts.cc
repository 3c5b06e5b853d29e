// Follows products through the program in one pass.
#include "spmd/blocks/product_facts.h"

#include <absl/algorithm/container.h>

namespace tessera::spmd {

using ir::Instruction;
using ir::ValueId;

bool MayRunInBlocks(const Instruction& i) {
  const ir::OpDef& op = *i.op;
  if (!i.regions.empty() || op.opaque || op.effect != ir::Effect::kNone || i.results.size() != 1 ||
      !std::holds_alternative<ir::DimMapFn>(*op.dims))
    return false;
  const ir::Lowering& lowering = *op.lowering;
  if (const auto* kernel = std::get_if<ir::AsKernel>(&lowering)) return !kernel->sharded;
  return std::holds_alternative<ir::AsElementwise>(lowering) ||
         std::holds_alternative<ir::AsReduction>(lowering) ||
         std::holds_alternative<ir::AsBroadcast>(lowering) ||
         std::holds_alternative<ir::AsView>(lowering) || IsLiteralOrIota(i);
}

bool IsLiteralOrIota(const Instruction& i) {
  return std::holds_alternative<ir::AsConstant>(*i.op->lowering) ||
         std::holds_alternative<ir::AsIota>(*i.op->lowering);
}

bool IsKernel(const Instruction& i) {
  return std::holds_alternative<ir::AsKernel>(*i.op->lowering);
}

ProductFacts::ProductFacts(const ir::Program& p, const BlockLimits& limits)
    : program_(p),
      limits_(limits),
      definitions_(DefinitionsOf(p)),
      users_(spmd::UsersOf(p)),
      returned_(p.values.size()),
      depends_on_product_(p.values.size()),
      maps_(p.instructions.size()) {
  for (ValueId v : p.outputs) returned_[v] = true;
  for (const Instruction& i : p.instructions) {
    bool depends =
        absl::c_any_of(i.operands, [&](ValueId v) { return bool{depends_on_product_[v]}; });
    if (!i.results.empty() && IsKernel(i) && i.op->flops_per_point > 0)
      depends |= p.type(i.results[0])->elements() >= limits.least;
    for (ValueId v : i.results) depends_on_product_[v] = depends;
  }
}

bool ProductFacts::IsLargeProduct(InstructionId i) const {
  const Instruction& product = at(i);
  if (product.results.size() != 1 || product.operands.size() != 2 ||
      product.op->flops_per_point == 0 || !IsKernel(product) || !MayRunInBlocks(product))
    return false;
  const int64_t of_operands =
      type(product.operands[0])->elements() + type(product.operands[1])->elements();
  return type(product.results[0])->elements() >= limits_.ratio * of_operands;
}

const sharding::DimMap& ProductFacts::MapOf(InstructionId i) {
  std::optional<sharding::DimMap>& map = maps_[i];
  if (!map) map = DimMapOf(program_, at(i));
  return *map;
}

}  // namespace tessera::spmd

// Infers the type of the result of blocks.
#include "spmd/blocks/block_types.h"

#include "ir/infer.h"
#include "ir/local_values.h"

namespace tessera::spmd {

bool TakesBlocks(const ir::Program& p, const ir::Instruction& instruction, const DimOfCall& dims,
                 int64_t block) {
  if (!std::holds_alternative<ir::AsKernel>(*instruction.op->lowering)) return true;
  const auto type_of_block = [&](ir::ValueId v, int d) {
    base::Shape shape = p.type(v)->shape();
    if (d != DimOfCall::kNone) base::At(shape, d) = block;
    return ir::Type::Get(std::move(shape), p.type(v)->dtype());
  };
  absl::InlinedVector<const ir::Type*, 3> operands;
  for (size_t k = 0; k < instruction.operands.size(); ++k)
    operands.push_back(type_of_block(instruction.operands[k], dims.operands[k]));
  const ir::Type* wanted = type_of_block(instruction.results[0], dims.result);
  try {
    const auto types = ir::InferTypes({.op = *instruction.op,
                                       .operands = operands,
                                       .params = instruction.params.get(),
                                       .loc = instruction.loc});
    return types[0]->shape() == wanted->shape() && types[0]->dtype() == wanted->dtype();
  } catch (const Error&) {
    return false;
  }
}

std::vector<int64_t> IotaSteps(const ir::Program& p, const ir::Instruction& iota) {
  const ir::LocalTensor result = ir::LocalTensorOf(p, iota.results[0]);
  return std::get<ir::AsIota>(*iota.op->lowering).index(iota.params.get(), result).strides;
}

}  // namespace tessera::spmd

// Gives an op's map function the shapes of an instruction.
#include "ir/typing_map.h"

#include "ir/type.h"

namespace tessera::ir {

DimsCall DimsCallOf(const OpDef& op, const Params* params, Types operands, Types results) {
  DimsCall call{.op = op, .operands = {}, .results = {}, .params = params};
  for (const Type* t : operands) call.operands.push_back(&t->shape());
  for (const Type* t : results) call.results.push_back(&t->shape());
  call.to_float = results[0]->dtype().is_inexact();
  return call;
}

sharding::DimMap TypingMapOf(const OpDef& op, const Params* params, Types operands, Types results) {
  return std::get<DimMapFn>(*op.dims)(DimsCallOf(op, params, operands, results));
}

}  // namespace tessera::ir

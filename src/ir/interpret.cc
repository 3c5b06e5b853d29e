// The reference interpreter: whole tensors, one instruction at a time.
#include "ir/interpret.h"

namespace tessera::ir {

std::vector<HostTensor> Interpret(const Program& program, std::vector<HostTensor> inputs) {
  base::IdVector<ValueId, HostTensor> values(program.values.size());
  size_t next = 0;
  for (ValueId v : program.inputs) values[v] = std::move(inputs[next++]);
  for (const Capture& c : program.captures) values[c.value] = std::move(inputs[next++]);
  for (const Instruction& instruction : program.instructions) {
    ReferenceCall call{.op = *instruction.op,
                       .params = instruction.params.get(),
                       .operands = {},
                       .results = {},
                       .regions = instruction.regions};
    for (ValueId v : instruction.operands) call.operands.push_back(&values[v]);
    for (ValueId v : instruction.results) {
      const Type* type = program.type(v);
      values[v] = HostTensor(type->dtype(), type->shape());
      call.results.push_back(&values[v]);
    }
    (*instruction.op->reference)(call);
  }
  std::vector<HostTensor> outputs;
  for (ValueId v : program.outputs) outputs.push_back(values[v]);
  return outputs;
}

}  // namespace tessera::ir

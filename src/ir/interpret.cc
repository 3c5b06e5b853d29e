// The reference interpreter: whole tensors, one instruction after the other.
#include "ir/program.h"

namespace tessera::ir {

std::vector<HostTensor> Interpret(const Program& program, std::vector<HostTensor> inputs) {
  std::vector<HostTensor> values(program.values.size());
  size_t next = 0;
  for (ValueId v : program.inputs) values[static_cast<size_t>(v)] = std::move(inputs[next++]);
  for (const Capture& c : program.captures)
    values[static_cast<size_t>(c.value)] = std::move(inputs[next++]);
  for (const Instruction& instruction : program.instructions) {
    ReferenceCall call{.op = *instruction.op,
                       .params = instruction.params.get(),
                       .operands = {},
                       .results = {},
                       .regions = instruction.regions};
    for (ValueId v : instruction.operands) call.operands.push_back(&values[static_cast<size_t>(v)]);
    for (ValueId v : instruction.results) {
      const Type* type = program.type(v);
      values[static_cast<size_t>(v)] = HostTensor(type->dtype(), type->shape());
      call.results.push_back(&values[static_cast<size_t>(v)]);
    }
    (*instruction.op->reference)(call);
  }
  std::vector<HostTensor> outputs;
  for (ValueId v : program.outputs) outputs.push_back(values[static_cast<size_t>(v)]);
  return outputs;
}

}  // namespace tessera::ir

// Walks over the instructions of a program, backwards where uses decide.
#include "ir/uses.h"

#include <algorithm>

namespace tessera::ir {

std::vector<bool> UsedValues(const Program& program, const std::vector<bool>& without) {
  std::vector<bool> used(program.values.size());
  for (ValueId v : program.outputs) used[static_cast<size_t>(v)] = true;
  for (size_t i = 0; i < program.instructions.size(); ++i)
    if (without.empty() || !without[i])
      for (ValueId v : program.instructions[i].operands) used[static_cast<size_t>(v)] = true;
  return used;
}

std::vector<bool> NeededFor(const Program& program, absl::Span<const ValueId> values) {
  std::vector<bool> input(program.values.size()), wanted(program.values.size());
  for (ValueId v : program.inputs) input[static_cast<size_t>(v)] = true;
  for (ValueId v : values) wanted[static_cast<size_t>(v)] = true;
  std::vector<bool> needed(program.instructions.size());
  for (size_t i = needed.size(); i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    needed[i] = std::any_of(instruction.results.begin(), instruction.results.end(), [&](ValueId v) {
      return wanted[static_cast<size_t>(v)] && !input[static_cast<size_t>(v)];
    });
    if (!needed[i]) continue;
    for (ValueId v : instruction.operands) wanted[static_cast<size_t>(v)] = true;
  }
  return needed;
}

void RemoveDead(Program& program) {
  const std::vector<bool> needed = NeededFor(program, program.outputs);
  std::vector<Instruction>& instructions = program.instructions;
  size_t kept = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (!needed[i]) continue;
    if (kept != i) instructions[kept] = std::move(instructions[i]);
    ++kept;
  }
  instructions.erase(instructions.begin() + static_cast<long>(kept), instructions.end());
}

}  // namespace tessera::ir

// Walks a program once for each table.
#include "spmd/definitions.h"

#include "base/dtype.h"
#include "ir/infer.h"

namespace tessera::spmd {

ValueDefinitions DefinitionsOf(const ir::Program& p) {
  ValueDefinitions definitions(p.values.size(), kNoInstruction);
  for (InstructionId i : InstructionIds(p))
    for (ir::ValueId v : InstructionAt(p, i).results) definitions[v] = i;
  return definitions;
}

ValueUsers UsersOf(const ir::Program& p) {
  ValueUsers users(p.values.size());
  for (InstructionId i : InstructionIds(p))
    for (ir::ValueId v : InstructionAt(p, i).operands) users[v].push_back(i);
  return users;
}

sharding::DimMap DimMapOf(const ir::Program& p, const ir::Instruction& instruction) {
  absl::InlinedVector<const ir::Type*, 4> operands, results;
  for (ir::ValueId v : instruction.operands) operands.push_back(p.type(v));
  for (ir::ValueId v : instruction.results) results.push_back(p.type(v));
  return ir::DimMapOf(*instruction.op, instruction.params.get(), operands, results);
}

int64_t ShardBytes(const ir::Program& p, ir::ValueId v) {
  return base::BytesOf(p.type(v)->elements(), p.type(v)->dtype());
}

int64_t HeldBytes(const ir::Program& p, ir::ValueId v) {
  return p.type(v)->elements() * p.type(v)->dtype().size();
}

bool OnlyMovesElements(const sharding::DimMap& map) {
  return map.results.size() == 1 && map.linear.size() == 1 && !map.traits.custom &&
         map.linear[0].operands.size() == map.operands.size() && map.linear[0].kinds.sum &&
         map.linear[0].kinds.max && map.linear[0].kinds.min;
}

}  // namespace tessera::spmd

// Facts about a program that most passes ask for.
#pragma once
#include "base/ids.h"
#include "ir/program.h"

namespace tessera::spmd {

using ir::InstructionAt;
using ir::InstructionId;
using ir::InstructionIds;
using ir::kNoInstruction;
using ir::kNoValue;

// Whether the instruction's result is its operand's buffer under another shape.
inline bool IsView(const ir::Instruction& i) {
  return std::holds_alternative<ir::AsView>(*i.op->lowering);
}

// The instruction that defines each value; kNoInstruction for inputs and captures.
using ValueDefinitions = base::IdVector<ir::ValueId, InstructionId>;
ValueDefinitions DefinitionsOf(const ir::Program& p);

// The instructions that read each value, once per operand.
using ValueUsers = base::IdVector<ir::ValueId, std::vector<InstructionId>>;
ValueUsers UsersOf(const ir::Program& p);

// Returns the dimension map of an instruction for the shapes of one device.
sharding::DimMap DimMapOf(const ir::Program& p, const ir::Instruction& instruction);

// Returns the bytes of one device's shard of a value.
int64_t ShardBytes(const ir::Program& p, ir::ValueId v);
// Same, in the memory of a simulated device, where an element of fewer than 8 bits has a byte.
int64_t HeldBytes(const ir::Program& p, ir::ValueId v);

// Whether an op with this map only moves elements: each element of its result is an element of an
// operand. Such an op commutes with every reduction, in all operands at once.
bool OnlyMovesElements(const sharding::DimMap& map);

}  // namespace tessera::spmd

// What partitioning decides about one instruction.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::spmd {

// From its op, params and types alone.
struct Decision {
  absl::InlinedVector<const ir::Type*, 3> operands;  // what the op wants
  absl::InlinedVector<const ir::Type*, 1> results;   // what it then leaves
  // Operands whose padding would reach a reduction: what to put there first. Null: nothing.
  absl::InlinedVector<ir::ParamsPtr, 3> masks;
  ir::CostPtr cost;
  bool expands = false;  // by Kernel::sharded
  // The op reads parts of shards of other devices: what of them. Null: it has its kernel.
  ir::ParamsPtr halo;
};

// Returns the decision on an instruction whose operands lie at these places, and whose results are
// wanted at those. Remembered per thread, for the machine balance in scope.
std::shared_ptr<const Decision> DecisionOn(const ir::Instruction& instruction, ir::Types operands,
                                           ir::Types results);

ir::CostPtr Costing(ir::Cost cost);

}  // namespace tessera::spmd

// Decides how one op is partitioned.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::spmd {

// How an op is partitioned. It depends only on the op, its params and places.
struct Decision {
  absl::InlinedVector<const ir::Type*, 3> operands;  // places in which the op reads them
  absl::InlinedVector<const ir::Type*, 1> results;   // places in which it then leaves them
  // MaskParams for each operand whose padding a reduction would read, else null.
  absl::InlinedVector<ir::ParamsPtr, 3> masks;
  ir::CostPtr cost;
  bool expands = false;  // to AsKernel::sharded
  // HaloParams if the op becomes a halo exchange; null if devices run the kernel of the op.
  ir::ParamsPtr halo;
  // The kernel reads a view of an operand, which a halo exchange makes. `outside`: the element of
  // the view where the operand has none, as a literal.
  struct OperandView {
    ir::ParamsPtr halo, outside;  // null: the kernel reads the operand
    const ir::Type* place = nullptr;
    ir::CostPtr cost;
  };
  absl::InlinedVector<OperandView, 3> views;  // empty: no operand has one
  ir::ParamsPtr params;                       // of the op that reads views; null: as in the program
};

// Returns the decision on an instruction with operands and wanted results in these places.
// Remembered per thread, for the machine balance in scope.
std::shared_ptr<const Decision> DecisionOn(const ir::Instruction& instruction, ir::Types operands,
                                           ir::Types results);

ir::CostPtr Costing(ir::Cost cost);

}  // namespace tessera::spmd

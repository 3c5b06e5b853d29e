// A device program while it grows.
#pragma once
#include <optional>
#include <vector>

#include "ir/program.h"

namespace tessera::spmd {

struct Draft {
  ir::Program program;
  // How a value is made.
  struct Origin {
    ir::InstructionId instruction = ir::kNoInstruction;
    // The value is computed from less data than it holds, so it is cheaper to rematerialise a part
    // of it than to slice it: broadcasts, elementwise ops whose operands are all repeated, and
    // values that elementwise ops and ops that move elements make of such values and numbers alone.
    bool is_light = false;
  };
  base::IdVector<ir::ValueId, Origin> origins;  // inputs have none

  const ir::Type* Place(ir::ValueId v) const { return program.place(v); }
  ir::ValueId AddValue(const ir::Type* place, Loc loc);
  ir::Instruction& Emit(ir::Instruction instruction);

  // Returns null for inputs.
  const Origin* OriginOf(ir::ValueId v) const;
  const ir::Instruction& MakerOf(const Origin& origin) const {
    return ir::InstructionAt(program, origin.instruction);
  }
  // Returns the number that v repeats, if it is a broadcast of one.
  std::optional<ir::ValueId> ScalarOf(ir::ValueId v) const;
  // Returns the value whose buffer v has: v is a view of it, or of a view.
  ir::ValueId RootOf(ir::ValueId v) const;

 private:
  bool IsLight(const ir::Instruction& instruction) const;
};

}  // namespace tessera::spmd

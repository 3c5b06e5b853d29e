// The device program's moves: one op for each step of a reshard.
#pragma once
#include "ir/program.h"
#include "sharding/reshard.h"

namespace tessera::spmd {

// Returns the op that carries out a step of a reshard plan in a device program.
const ir::OpDef& OpOf(sharding::StepKind kind);
// Returns the step that an op is: the inverse of OpOf. A `ppermute` of the user counts
// as kCollectivePermute.
sharding::StepKind KindOf(const ir::OpDef& op);
// Whether an instruction is a step of this kind.
bool IsStep(const ir::Instruction& i, sharding::StepKind kind);

// Returns the expansion that fills the padding of dims with the identity of a reduction
// (MaskParams).
ir::ExpandFn MaskOp();

}  // namespace tessera::spmd

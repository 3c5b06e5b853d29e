// The device program's moves: which op stands for a step.
#pragma once
#include "ir/op.h"
#include "sharding/reshard.h"

namespace tessera::spmd {

// Returns the op of a step.
const ir::OpDef& OpOf(sharding::StepKind kind);
// Returns which step an op stands for: those that OpOf gives, and a permutation by the user.
sharding::StepKind KindOf(const ir::OpDef& op);

// What puts the identity of a reduction behind the end of dims (MaskParams).
ir::ExpandFn MaskOp();

}  // namespace tessera::spmd

// The device program's moves: which op stands for a step, and its parameters.
#pragma once
#include "ir/op.h"
#include "sharding/reshard.h"

namespace tessera::spmd {

// Returns the op of a step, looked up by its name in the list of ops.
const ir::OpDef& OpOf(sharding::StepKind kind);
// Returns which step an op stands for; only for those that OpOf gives.
sharding::StepKind KindOf(const ir::OpDef& op);

// What puts the identity of a reduction behind the end of dims (MaskParams).
ir::ExpandFn MaskOp();

// {from=f32[8@x,4], to=f32[8,4]}: the global types before and after.
ir::ParamsPtr MoveParamsOf(const ir::Type& from, const ir::Type& to);

}  // namespace tessera::spmd

// Ops that call a host function.
#pragma once
#include "ir/host_call.h"
#include "ops/params.h"

namespace tessera::ops {

// Returns the op of callbacks that run in program order, or of those that need not.
const OpDef& CallbackOp(bool ordered);

}  // namespace tessera::ops

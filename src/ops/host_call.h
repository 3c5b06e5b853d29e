// Ops that call a function of the host.
#pragma once
#include "ir/host_call.h"
#include "ops/params.h"

namespace tessera::ops {

// Returns the op of callbacks that run in the order of the program, or of those that need not.
const OpDef& CallbackOp(bool ordered);

}  // namespace tessera::ops

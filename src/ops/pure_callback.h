// The op whose results a host function computes.
#pragma once
#include "ir/host_call.h"
#include "ops/params.h"

namespace tessera::ops {

// Returns the op of PureCallParams.
const OpDef& PureCallbackOp();

}  // namespace tessera::ops

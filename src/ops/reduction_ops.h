// The ops of each reduction.
#pragma once
#include "ops/params.h"
#include "tessera/reduction.h"

namespace tessera::ops {

struct ReductionOps {
  const ir::OpDef* dims;     // reduces dims
  const ir::OpDef* windows;  // reduces windows
};
const ReductionOps& OpsOf(Reduction reduction);

}  // namespace tessera::ops

// Rematerialisation trades time for memory: the second part of a split computes again the values
// that it reads of the first part.
#pragma once
#include "transforms/split.h"

namespace tessera::transforms {

// Rewrites the split of a checkpoint's region. `params`: the params of the checkpoint. The
// residuals of the result are known inputs, and values that the checkpoint's policy keeps.
Split Rematerialized(Split split, const ir::Params* params);

}  // namespace tessera::transforms

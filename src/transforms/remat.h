// Memory for time: the second part of a program computes again what it reads of the first.
#pragma once
#include "transforms/split.h"

namespace tessera::transforms {

// Of the region of a checkpoint with these parameters: returns parts whose only residuals are known
// inputs, and values that the policy keeps.
Split Rematerialized(Split split, const ir::Params* params);

}  // namespace tessera::transforms

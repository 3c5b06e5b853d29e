// Skips the columns that a mask hides, as a causal mask hides the columns after each row.
#pragma once
#include "ir/program.h"
#include "spmd/blocks/limits.h"

namespace tessera::spmd {

// Splits loops over blocks of rows into up to 32 loops, each over some of the iterations, without
// the columns that the mask hides in all of them. Causal attention then does 9/16 of the work.
// Results are those of all columns up to rounding (visible_part.h says why). A loop stays whole if
// hidden columns of a row may differ.
void SkipMasked(ir::Program& device, const BlockLimits& limits = CurrentBlockLimits());

}  // namespace tessera::spmd

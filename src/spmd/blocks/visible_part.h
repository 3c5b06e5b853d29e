// A loop over some of the iterations of another, without the columns that a mask hides in them.
#pragma once
#include <optional>
#include <vector>

#include "spmd/blocks/loop_columns.h"
#include "spmd/blocks/writer.h"

namespace tessera::spmd {

// Iterations [begin, end) of a loop, and the columns that they need.
struct LoopPart {
  int64_t begin = 0, end = 0;
  Columns needed = {};
};

// Adds the loop over one part to `out`. `bounds`: of the body's values in these iterations.
// `carries`: what the part before left. Returns its results, with fewer slices of what it stacks;
// none: more of the hidden columns is needed than one number per row.
std::optional<std::vector<ir::ValueId>> AddPart(Writer& out, const ir::Instruction& loop,
                                                const LoopColumns& columns, const LoopPart& part,
                                                const ValueBounds& bounds,
                                                const std::vector<ir::ValueId>& carries);

}  // namespace tessera::spmd

// The values that enter and leave the items of a schedule.
#pragma once
#include <vector>

#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Sets what each item reads and makes, and drops items whose work others do: what users make by
// themselves enters only items that cannot, and a move may read in another order, write in another
// order, or compute each element on its way. `defined_at`: per value its instruction, or -1.
void FindBorders(const ir::Program& device, const std::vector<int32_t>& defined_at,
                 Schedule& schedule);

// Whether fused groups that read `v`, which is kept as `root`, make it by themselves: a literal or
// an index.
bool IsMadeByUsers(const ir::Program& device, const std::vector<int32_t>& defined_at, ir::ValueId v,
                   ir::ValueId root);

}  // namespace tessera::spmd

// Live-ins and live-outs: which values each item reads from memory and stores there.
#pragma once
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Sets `in` and `out` of every item, and drops items whose results no other item reads from memory:
//  * A fused group rematerialises literals and iotas.
//  * A fused group reads an operand that only moves elements (a slice, say) out of its source.
//  * A move does the same, stores its result in another order, or computes an elementwise group of
//    one operand on the way.
//  * A product copies an operand that only moves elements out of its sources tile by tile.
void FindLiveValues(const ir::Program& device, Schedule& schedule);

// Whether fused groups that read v compute it themselves, since it is a literal, an iota or a view
// of one. `root`: the value whose buffer holds v.
bool IsRematerialised(const ir::Program& device, const ValueDefinitions& definitions, ir::ValueId v,
                      ir::ValueId root);

}  // namespace tessera::spmd

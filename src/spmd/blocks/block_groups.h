// Groups of members, each of which runs in one loop.
#pragma once
#include "spmd/blocks/block_members.h"

namespace tessera::spmd {

// Returns the loops that compute everything that needs the wide values, in blocks of dim `dim` of
// the product. Returns none if that is not possible, or costs more than it saves.
std::vector<BlockGroup> GroupsAlong(ProductFacts& facts, const WideValues& wide, int dim,
                                    const BlockLimits& limits);

}  // namespace tessera::spmd

// Hints for propagation over Auto axes: arrays that are sharded alike, and barriers.
#pragma once
#include <utility>

#include "tessera/array.h"
#include "tessera/propagation.h"

namespace TESSERA_PUBLIC tessera {

// Returns x and y. Over Auto axes, propagation shards them alike: each axis that one of them gets,
// the other gets too. Over Explicit axes, both have the sharding of x + y. Throws ShapeError if the
// shapes differ, ShardingError if the shardings do.
std::pair<Array, Array> shard_alike(Operand x, Operand y, Loc loc = Loc::Current());

// Returns x. Over Auto axes, shardings cross it only in one direction: from x to the result
// (kForward), back (kBackward), in none or in both.
Array propagation_barrier(Operand x, propagation::Direction crosses, Loc loc = Loc::Current());

}  // namespace tessera

// Lowering: from a program over whole arrays to the device program, the program that each device
// runs. A device program is an ir::Program with local shapes and the collectives that join the
// devices; its values know their places, and its instructions their costs.
#pragma once
#include "ir/program.h"

namespace tessera::spmd {

// Returns the program as each device of its mesh runs it: factors of every op sharded in the way
// that costs least (sharding::ChoosePartition), reshards inserted as collectives, dead and repeated
// code removed, sums of partial values reduced after they are added up
// (spmd/passes/reduce_after_sums.h). What has no data of its own (broadcasts, iota, constants and
// what is computed from these alone) is made as it is used: a device that uses a part makes that
// part.
ir::Program Lower(const ir::Program& program);

}  // namespace tessera::spmd

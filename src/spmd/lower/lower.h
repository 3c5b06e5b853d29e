// Partitioning: from a program over whole arrays to the device program, the program that each
// device runs. A device program is an ir::Program with local shapes and the collectives that join
// the devices. Its values know their places, and its instructions their costs.
#pragma once
#include <absl/functional/function_ref.h>

#include "ir/program.h"
#include "spmd/lower/value_places.h"

namespace tessera::spmd {

// Returns the device program of a region. `steady`: see ChoosePlaces.
using RegionLowering = absl::FunctionRef<ir::Program(const ir::RegionPtr& region, size_t steady)>;

// Returns the device program of a program whose values have places. Shards the factors of every op
// in the way that costs least (sharding::ChoosePartition), and inserts reshards as collectives.
// Values without data of their own (broadcasts, iota, constants, and values that depend on these
// alone) are rematerialised: a device that uses a part makes that part.
ir::Program Partition(const ir::Program& program, const AskedMoves& asked,
                      RegionLowering lower_region);

}  // namespace tessera::spmd

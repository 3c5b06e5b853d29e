// Halo exchanges dim by dim. Exchanges that read the same along the first dim then share its stage:
// the nine neighbours of a point need the rows above and below once.
#pragma once
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>

#include <optional>

#include "ir/move_params.h"
#include "ir/program.h"

namespace tessera::spmd {

// Returns the part of a halo exchange along its first sharded dim. Returns nothing if the exchange
// reads along no other dim, or if a read along an unsharded dim is neither a slice nor a pad.
std::optional<ir::HaloParams> FirstStageOf(const ir::HaloParams& halo);
// Returns the exchange that turns the result of the first stage into the final result.
ir::HaloParams RestOf(const ir::HaloParams& halo, const ir::HaloParams& first);
// Returns the most bytes that any device receives from other devices.
int64_t BytesOf(const ir::HaloParams& halo);
// Whether the exchange reads along a sharded dim. If not, each device already has all elements that
// it reads.
bool ReadsShardedDim(const ir::HaloParams& halo);

// Returns the results of halo exchanges that send fewer bytes if they run dim by dim, because
// several of them share the first stage; and the results of instructions that already are such a
// stage. `place` returns a value's place.
absl::flat_hash_set<ir::ValueId> FindStagedExchanges(
    const ir::Program& program, absl::FunctionRef<const ir::Type*(ir::ValueId)> place);

}  // namespace tessera::spmd

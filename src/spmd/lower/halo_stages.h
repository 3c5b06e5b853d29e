// Halo exchanges dim by dim. Exchanges that read the same along the first dim then share its stage:
// the nine neighbours of a point need the rows above and below once.
#pragma once
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>

#include <optional>

#include "ir/move_params.h"
#include "ir/program.h"

namespace tessera::spmd {

// Returns the part of a halo exchange along its first sharded dim. Nothing if it reads along no
// other dim, or if a read along an unsharded dim is neither a slice nor a pad.
std::optional<ir::HaloParams> FirstStageOf(const ir::HaloParams& halo);
// Returns the exchange that makes the final result of the first stage's.
ir::HaloParams RestOf(const ir::HaloParams& halo, const ir::HaloParams& first);
// Returns the bytes that the device which gets most gets from others.
int64_t BytesOf(const ir::HaloParams& halo);
// Whether it reads along sharded dims. Else each device has all elements that it reads.
bool Exchanges(const ir::HaloParams& halo);

// Returns the results of instructions that send fewer bytes dim by dim, as several share a first
// stage, and of instructions that are such a first stage. `place` returns a value's place.
absl::flat_hash_set<ir::ValueId> InStages(const ir::Program& program,
                                          absl::FunctionRef<const ir::Type*(ir::ValueId)> place);

}  // namespace tessera::spmd

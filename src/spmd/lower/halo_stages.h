// A halo exchange dim by dim. What reads the same along the first dim, and other parts of the
// others, then exchanges that once: all neighbours of a point are read from the rows of three.
#pragma once
#include <absl/container/flat_hash_set.h>

#include <functional>
#include <optional>

#include "ir/move_params.h"
#include "ir/program.h"

namespace tessera::spmd {

// Returns what a halo exchange reads along its first sharded dim, with the operand's other dims as
// they are. Nothing if it reads along no other dim, or if what it reads along unsharded dims is not
// a slice or a pad.
std::optional<ir::HaloParams> FirstStageOf(const ir::HaloParams& halo);
// Returns the exchange of that stage's result which gives the whole one's.
ir::HaloParams RestOf(const ir::HaloParams& halo, const ir::HaloParams& first);
// Returns the most bytes that one device gets from others.
int64_t BytesOf(const ir::HaloParams& halo);
// Whether it reads along sharded dims: else each device has all that it reads.
bool Exchanges(const ir::HaloParams& halo);

// Returns the results of those instructions for which dim by dim is fewer bytes in sum, as several
// have one first stage; and of those that are such a first stage. `place`: of each value.
absl::flat_hash_set<ir::ValueId> InStages(const ir::Program& program,
                                          const std::function<const ir::Type*(ir::ValueId)>& place);

}  // namespace tessera::spmd

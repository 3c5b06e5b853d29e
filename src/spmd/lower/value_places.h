// Places of values, chosen for the program as a whole.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <memory>
#include <optional>

#include "ir/program.h"

namespace tessera::spmd {

// Lines at which the user asked for a move that no type requires: by the first result of an
// instruction, one for each of its operands, then one for each of its results. Nothing if the move
// is implied.
using AskedMoves = absl::flat_hash_map<ir::ValueId, absl::InlinedVector<std::optional<Loc>, 4>>;

struct ChosenPlaces {
  std::shared_ptr<const ir::Program> program;  // with the chosen places
  AskedMoves asked = {};
};

// Chooses places for values that elementwise ops and moves connect. Such values form a group, which
// moves to a place if fewer bytes are sent and no device does more work, or if as many bytes are
// sent and less work is done. A group is tried at up to 8 places, three times at most, and stays if
// more than 1000 instructions are around it. Operands and results of contractions and other heavy
// ops keep their places: the user says how such an op is split. If its result is partial, the op
// stays split as it is, and the reduction may move to another place. `steady`: the number of first
// inputs that are the same each time that the program runs. A move that depends only on these is
// hoisted, and costs nothing.
ChosenPlaces ChoosePlaces(std::shared_ptr<const ir::Program> program, size_t steady);

}  // namespace tessera::spmd

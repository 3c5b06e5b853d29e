// Where values of a program lie, chosen for the program as a whole.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <functional>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace tessera::spmd {

// Where the values of a program lie.
struct ChosenPlaces {
  // Per value, where it lies instead of where its type says; null: as that says. Empty: all do.
  std::vector<const ir::Type*> places = {};
  // Where the user asked for a move that is another one than types make there: per instruction, by
  // its first result, for each of its operands and then of its results. Nothing: it is implied.
  using Lines = absl::InlinedVector<std::optional<Loc>, 4>;
  absl::flat_hash_map<ir::ValueId, Lines> asked = {};
};

// Returns where values are to lie. Those that are connected by elementwise ops and moves are placed
// together, where fewer bytes are sent and no device does more work; if as many bytes are sent,
// where less work is done. A group is tried at up to 8 places, three times at most, and stays if
// more than 1000 instructions are around it. What contractions and other heavy ops read and make
// stays: how they are split is for the user to say. `typed`: where types put a value. `steady`: so
// many first inputs are the same each time that the program runs, and what is moved of them alone
// is moved once, before.
ChosenPlaces ChoosePlaces(const ir::Program& program,
                          const std::function<const ir::Type*(ir::ValueId)>& typed, size_t steady);

// Of this process, for tests: false lets every value lie as its type says.
bool& ChoosesPlaces();

}  // namespace tessera::spmd

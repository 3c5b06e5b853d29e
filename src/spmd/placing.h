// Where values of a program lie, chosen for the program as a whole.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace tessera::spmd {

// A value that lies elsewhere than its type says: nobody outside of the program sees it.
struct ChosenPlace {
  const ir::Type* place = nullptr;  // null: as its type says
  // Where the user asked for what is moved around it, if so.
  std::optional<Loc> asked = {};
};

// Returns, per value, where it is to lie; nothing where all stay. Values that are connected by
// elementwise ops and moves are placed together, where fewer bytes are sent and no device does more
// work; if as many bytes are sent, where less work is done. What contractions and other heavy ops
// read and make stays: how they are split is for the user to say. `typed`: where types put a value.
// `steady`: so many first inputs are the same each time that the program runs, and what is moved of
// them alone is moved once, before.
std::vector<ChosenPlace> ChoosePlaces(const ir::Program& program,
                                      const std::function<const ir::Type*(ir::ValueId)>& typed,
                                      size_t steady);

// Of this process, for tests: false lets every value lie as its type says.
bool& ChoosesPlaces();

}  // namespace tessera::spmd

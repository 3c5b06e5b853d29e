// Values that may have other places, and groups of them that get the same place.
#pragma once
#include <vector>

#include "base/ids.h"
#include "ir/program.h"
#include "spmd/lower/place_trial.h"

namespace tessera::spmd {

struct FreeValues {
  // Values near a move that only light ops define and read: ops whose work is small compared with
  // moving their operands.
  base::IdVector<ir::ValueId, bool> is_free;
  // Heavy ops that leave partial sums: how they are split stays, but the sums may go elsewhere.
  OpDecisions splits;
};

// Whether some instruction moves values, by a reshard or as an elementwise op of operands in
// different places. If not, no other places need to be tried.
bool HasMoves(const ir::Program& program);
FreeValues FindFreeValues(const ir::Program& program, const ValueUses& uses, PlaceTrial& trial);

// Returns groups of free values of one shape and place that elementwise ops and moves connect.
// Groups whose last value is later in the program come first. So do later values within a group.
std::vector<std::vector<ir::ValueId>> GroupsOf(const ir::Program& program, const FreeValues& free,
                                               const PlaceTrial& trial);

}  // namespace tessera::spmd

// Tracing the functions of control flow as regions.
#pragma once
#include "tessera/control.h"
#include "trace/array.h"

namespace tessera::trace {

// A user's function traced on its own. What it uses of the outside is among the captures.
struct TracedRegion {
  ir::Program program;
  Leaves result;  // its names and statics; the arrays are those of the ended trace
  std::vector<Loc> output_locs = {};
};

// Returns the trace of f on parameters of these types.
TracedRegion TraceRegion(absl::Span<const ir::Type* const> parameters, const LeafFunction& f,
                         const char* op, Loc loc);

// Makes whatever any of the regions captured the first inputs of all of them, in one order, and
// returns it: those are the first operands of the instruction.
std::vector<ArrayRef> CloseRegions(std::vector<TracedRegion>& regions);

}  // namespace tessera::trace

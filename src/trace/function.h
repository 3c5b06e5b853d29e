// Running a user's function on tracers.
#pragma once
#include "tessera/wrapped.h"
#include "trace/array.h"
#include "trace/key_reuse.h"

namespace tessera::trace {

// What a function is traced with in the place of an array.
struct Parameter {
  const ir::Type* type;
  Loc loc;
  const ir::Type* place = nullptr;  // the layout, where the type does not say it all
};
Parameter LikeArray(const ArrayRef& array);

struct TracedFunction {
  ir::Program program;   // what it uses of the outside is among the captures
  detail::AnyTree tree;  // that it returned; the arrays are those of the ended trace
  std::vector<Loc> output_locs = {};
  size_t parameters = 0;
  std::vector<KeyUse> key_uses = {};
  std::shared_ptr<const void> made = {};  // FunctionResult::made
};

// Returns the trace of f, in which errors are `op`'s. `outer`: the trace that it is a region of, or
// null.
TracedFunction TraceFunction(absl::Span<const Parameter> parameters, const detail::Body& f,
                             const char* op, Loc loc, Trace* outer, RegionRuns runs = {});

// Makes whatever any of the regions captured the first inputs of all of them, in one order, and
// returns it: those are the first operands of the instruction.
std::vector<ArrayRef> CloseRegions(std::vector<TracedFunction>& regions);

}  // namespace tessera::trace

// Runs a user's function on tracers.
#pragma once
#include "tessera/wrapped.h"
#include "trace/array.h"
#include "trace/key_reuse.h"

namespace tessera::trace {

// The description of an array that a function is traced with.
struct Parameter {
  const ir::Type* type;
  Loc loc;
  const ir::Type* place = nullptr;  // the layout, if the type does not say it all
};
Parameter LikeArray(const ArrayRef& array);

struct TracedFunction {
  ir::Program program;   // outside values that it uses are captures
  detail::AnyTree tree;  // of the result; its arrays belong to the ended trace
  std::vector<Loc> output_locs = {};
  size_t parameters = 0;
  std::vector<KeyUse> key_uses = {};
  std::shared_ptr<const void> made = {};  // FunctionResult::made
};

// Traces f. Errors are named after `op`. `outer`: the trace that has this one as a region, or null.
TracedFunction TraceFunction(absl::Span<const Parameter> parameters, const detail::Body& f,
                             const char* op, Loc loc, Trace* outer, RegionRuns runs = {});

// Makes all captures of the regions the first inputs of every region, in one order. Returns them:
// they are the first operands of the instruction.
std::vector<ArrayRef> CloseRegions(std::vector<TracedFunction>& regions);

}  // namespace tessera::trace

// Chooses whether a transform is part of the trace around it, or is compiled as a whole.
#include "api/functions/transformed.h"

#include "api/core/tree_match.h"
#include "trace/inline.h"

namespace tessera::api {

detail::FunctionResult CallTransformed(const detail::FunctionCall& f, RunCompiled compiled,
                                       const detail::Body& in_trace, Call call) {
  CheckArrays(f.arguments, call);
  const std::vector<Array> arrays = detail::LeavesOf(f.arguments);
  if (trace::InsideTrace(RefsOf(arrays, call))) return in_trace(arrays);
  return compiled({f.arguments, in_trace, f.loc});
}

}  // namespace tessera::api

// Calls of transforms: part of the trace around them, or compiled as a whole.
#pragma once
#include <absl/functional/function_ref.h>

#include "api/core/operands.h"
#include "tessera/wrapped.h"

namespace tessera::api {

// Runs a call's function, compiled once per type of the arguments, as the transform's Jit does.
using RunCompiled = absl::FunctionRef<detail::FunctionResult(const detail::FunctionCall&)>;

// Calls a transform of a function. Inside a trace, `in_trace` adds it to the trace; at top level,
// `compiled` runs the whole of `in_trace` as one program.
detail::FunctionResult CallTransformed(const detail::FunctionCall& f, RunCompiled compiled,
                                       const detail::Body& in_trace, Call call);

}  // namespace tessera::api

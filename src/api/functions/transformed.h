// Transforms as functions that are compiled where nothing traces them.
#pragma once
#include <functional>

#include "api/core/operands.h"
#include "tessera/wrapped.h"

namespace tessera::api {

// Runs a call's function, compiled once per type of the arguments: what the transform's Jit does.
using RunCompiled = std::function<detail::FunctionResult(const detail::FunctionCall&)>;

// Returns what a transform makes of a call: inside a trace it is traced there; at top level the
// whole is compiled.
detail::FunctionResult CallTransformed(const detail::FunctionCall& f, const RunCompiled& compiled,
                                       const detail::Body& in_trace, Call call);

}  // namespace tessera::api

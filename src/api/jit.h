// Transforms as functions that are compiled where nothing traces them.
#pragma once
#include "api/frontend.h"
#include "tessera/wrapped.h"

namespace tessera::api {

// Returns what a transform makes of a call: inside a trace it is traced there; at top level the
// whole is compiled once per type, and `kept` keeps it.
detail::FunctionResult CallTransformed(const detail::FunctionCall& f, const detail::Jit& kept,
                                       const detail::Body& in_trace, Call call);

}  // namespace tessera::api

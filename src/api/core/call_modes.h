// Calls of functions with axes of the mesh in another mode.
#pragma once
#include "api/core/operands.h"
#include "tessera/modes.h"

namespace tessera::api {

detail::FunctionResult CallAutoAxes(const detail::FunctionCall& function,
                                    const AutoAxesOptions& options);
detail::FunctionResult CallExplicitAxes(const detail::FunctionCall& function,
                                        const ExplicitAxesOptions& options);

// Returns f(xs) with all axes Auto, laid out by these specs: one for all results, or one for each.
// For functions that take an out_sharding and are composed of ops that do not.
using InsideAutoAxes = std::function<std::vector<Array>(const std::vector<Array>&)>;
std::vector<Array> InAutoAxes(const std::vector<Array>& xs, const Specs& out,
                              const InsideAutoAxes& f, Call call);

}  // namespace tessera::api

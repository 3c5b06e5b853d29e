// Calls of functions with axes of the mesh in another mode.
#pragma once
#include "api/core/operands.h"
#include "tessera/modes.h"

namespace tessera::api {

detail::FunctionResult CallAutoAxes(const detail::FunctionCall& function,
                                    const AutoAxesOptions& options);
detail::FunctionResult CallExplicitAxes(const detail::FunctionCall& function,
                                        const ExplicitAxesOptions& options);

}  // namespace tessera::api

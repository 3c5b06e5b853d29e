// Functions that run under another mode of the mesh.
#pragma once
#include "api/core/operands.h"
#include "tessera/modes.h"

namespace tessera::api {

detail::FunctionResult CallAutoAxes(const detail::FunctionCall& function,
                                    const AutoAxesOptions& options);
detail::FunctionResult CallExplicitAxes(const detail::FunctionCall& function,
                                        const ExplicitAxesOptions& options);

}  // namespace tessera::api

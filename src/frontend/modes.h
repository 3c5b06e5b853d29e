// Functions that run under another mode of the mesh.
#pragma once
#include "frontend/operands.h"
#include "tessera/modes.h"

namespace tessera::frontend {

detail::FunctionResult CallAutoAxes(const detail::FunctionCall& function,
                                    const AutoAxesOptions& options);
detail::FunctionResult CallExplicitAxes(const detail::FunctionCall& function,
                                        const ExplicitAxesOptions& options);

}  // namespace tessera::frontend

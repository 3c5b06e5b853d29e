// Cases that ask for numbers: computed on one device, and again with operands sharded over a mesh.
#pragma once
#include "case.h"
#include "families.h"
#include "outcome.h"

namespace tessera::conformance {

// The process must have at least four devices.
Outcome RunValues(const Case& c, const Families& families);

}  // namespace tessera::conformance

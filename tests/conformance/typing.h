// Cases that ask for types: traced on an abstract mesh, never computed.
#pragma once
#include "case.h"
#include "families.h"
#include "outcome.h"

namespace tessera::conformance {

Outcome RunTyping(const Case& c, const Families& families);

}  // namespace tessera::conformance

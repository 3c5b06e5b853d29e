// What every program keeps to.
#pragma once
#include "ir/program.h"

namespace tessera::ir {

// Throws InternalError (parsed text: RuntimeError) if a value is used before it is defined, or an
// instruction's result types are not those its op gives. Device programs: only that values are
// defined before use.
void Verify(const Program& program);

}  // namespace tessera::ir

// What a device program sends.
#pragma once
#include "ir/program.h"
#include "tessera/program.h"

namespace tessera::compile {

CommReport Report(const ir::Program& device);
// Returns the collective's name in reports: "all_gather".
const char* Name(CommKind kind);

}  // namespace tessera::compile

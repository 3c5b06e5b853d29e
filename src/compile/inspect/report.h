// What a device program sends.
#pragma once
#include "ir/program.h"
#include "tessera/program.h"

namespace tessera::compile {

CommReport Report(const ir::Program& device);

}  // namespace tessera::compile

// The collectives of a device program, as users see them.
#pragma once
#include "ir/program.h"
#include "tessera/program.h"

namespace tessera::compile {

CommReport Report(const ir::Program& device);

// Returns the name of the axis of which the text in a CommEvent is the whole or a part.
std::string AxisNameOf(const std::string& axis);

}  // namespace tessera::compile

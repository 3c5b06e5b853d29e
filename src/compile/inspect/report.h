// The collectives of a device program, as users see them.
#pragma once
#include "ir/program.h"
#include "tessera/program.h"

namespace tessera::compile {

CommReport Report(const ir::Program& device);

// Returns the name of the axis that the text in a CommEvent names, wholly or in part.
std::string AxisNameOf(const std::string& axis);

}  // namespace tessera::compile

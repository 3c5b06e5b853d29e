// What `tessera ops` prints: docs/ops.md, which the build puts into the command.
#pragma once
#include <string>

namespace tessera::cli {

// Returns the whole text.
std::string OpsText();

// Returns the section of one op. Throws std::runtime_error with the nearest names if there is none.
std::string OpText(const std::string& name);

}  // namespace tessera::cli

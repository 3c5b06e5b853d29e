// The text that `tessera ops` prints: docs/ops.md, which the build embeds in the command.
#pragma once
#include <string>

namespace tessera::cli {

// Returns the whole text.
std::string OpsText();

// Returns the section of one op. Throws std::runtime_error with the closest names if there is none.
std::string OpText(const std::string& name);

}  // namespace tessera::cli

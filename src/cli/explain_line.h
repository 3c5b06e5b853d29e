// Explanations of the values that a line of the user's program makes.
#pragma once
#include <tessera/explain.h>
#include <tessera/program.h>

#include <string>

namespace tessera::cli {

// Whether a text is a line, such as "model.py:12".
bool IsLine(const std::string& text);

// Returns each value that the line makes, with its op and type, and the reason for its sharding.
// Throws std::runtime_error with the lines next to it if it makes none.
std::string ExplainLine(const Program& program, const std::string& line,
                        propagation::Stage stop_after);

}  // namespace tessera::cli

// Why files cannot be read or written.
#pragma once
#include <string>

namespace tessera::base {

// Returns "no such file or directory", "permission denied", "it is a directory"; empty if the file
// can be read. Opens nothing, so that a pipe keeps its one reader.
std::string WhyUnreadable(const std::string& path);

// Returns what the last failed call of the system says, as above.
std::string ErrnoText();

}  // namespace tessera::base

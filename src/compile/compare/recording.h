// Recordings of runs as bytes.
#pragma once
#include <string>

#include "compile/compare/compare_runs.h"

namespace tessera::compile {

// Returns the bytes of a recording.
std::string Recording(const RunValues& run);
// Returns the values of a recording, which the file at `path` has. Throws RuntimeError for other
// bytes.
RunValues FromRecording(const std::string& bytes, const std::string& path, Loc loc);

}  // namespace tessera::compile

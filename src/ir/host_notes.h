// Parts of errors that say where a host call ran.
#pragma once
#include <string>
#include <vector>

#include "ir/host_call.h"

namespace tessera::ir {

// Returns "on device 5" for a value of this type at a position in its mesh, or "" where a single
// device has all.
std::string DeviceNote(const HostArguments& arguments, const Type& type, int64_t position);
// Returns the note of the iterations of the loops around the call; none outside of loops.
std::vector<std::string> IterationNotes(const HostArguments& arguments);

}  // namespace tessera::ir

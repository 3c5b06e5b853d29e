// The text of notes about functions that are traced again and again.
#pragma once
#include <string>
#include <vector>

#include "ir/type.h"
#include "tessera/tree.h"

namespace tessera::trace {

// The arguments of a call. The types are those of the outline's arrays.
struct Given {
  detail::Outline outline;
  std::vector<const ir::Type*> types;
};

// Returns the changes between two calls: "argument 1 from 0.1 to 0.2, argument 2 from ...".
std::string ChangeText(const Given& before, const Given& now);

// Whether jit may print notes (RetraceNotes).
bool RetraceNotesOn();

}  // namespace tessera::trace

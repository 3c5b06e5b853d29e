// What a note says about a function that is traced again and again.
#pragma once
#include <string>
#include <vector>

#include "ir/type.h"
#include "tessera/tree.h"

namespace tessera::trace {

// What a call was given: the types are those of the outline's arrays.
struct Given {
  detail::Outline outline;
  std::vector<const ir::Type*> types;
};

// Returns what changed between two calls: "argument 1 from 0.1 to 0.2, argument 2 from ...".
std::string ChangeText(const Given& before, const Given& now);

// Whether jit may say anything (RetraceNotes).
bool RetraceNotesOn();

}  // namespace tessera::trace

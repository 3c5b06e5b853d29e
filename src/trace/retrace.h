// The text of notes about functions that are traced again and again.
#pragma once
#include <string>
#include <vector>

#include "ir/type.h"
#include "trace/tree.h"

namespace tessera::trace {

// Facts about the arguments of a call: the types of arrays, plain numbers, numbers of parts.
using Given = std::vector<Fact>;
// Returns the facts about arguments whose arrays have these types.
Given GivenOf(detail::TreeRef arguments, const std::vector<const ir::Type*>& types);

// Returns the changes between two calls: "argument 1.rate from 0.1 to 0.2, argument 2 from ...".
std::string ChangeText(const Given& before, const Given& now);

// Whether jit may print notes (RetraceNotes).
bool RetraceNotesOn();

}  // namespace tessera::trace

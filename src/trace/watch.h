// Whether Array variables that a function captured by reference were assigned since it was traced.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "ir/program.h"
#include "tessera/wrapped.h"

namespace tessera::trace {

class ArrayImpl;

// The captures of one traced program.
struct Watch {
  std::atomic<int> assigned = 0;  // variables that have another value now
  std::atomic<bool> said = false;
};

// Watches the variables that the bytes of the function refer to and that have a captured array.
// Nothing is read through the bytes: a variable tells by itself when it is assigned. Returns null
// if there can be none.
std::shared_ptr<Watch> WatchCaptures(const ir::Program& program, detail::FunctionBytes function);

// Forgets the variables of an array that dies.
void Unwatch(const ArrayImpl* array);

// Returns the note about a call of such a program; empty unless one is due.
std::string CaptureNote(const std::shared_ptr<Watch>& watch, const std::string& name, Loc loc);

}  // namespace tessera::trace

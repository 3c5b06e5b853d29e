// Detects whether Array variables that a function captured by reference were assigned
// after tracing.
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
  std::atomic<int> assigned = 0;  // variables that now hold another value
  std::atomic<bool> said = false;
};

// Watches the variables that the function's bytes refer to and that hold a captured
// array. Nothing is read through the bytes: a variable reports its own assignment.
// Returns null if there is nothing to watch.
std::shared_ptr<Watch> WatchCaptures(const ir::Program& program, detail::FunctionBytes function);

// Forgets the variables of an array that is destroyed.
void Unwatch(const ArrayImpl* array);

// Returns the note about a call of such a program, or "" if none is due.
std::string CaptureNote(const std::shared_ptr<Watch>& watch, const std::string& name, Loc loc);

}  // namespace tessera::trace

// Detects whether variables that a function captured by reference were assigned after tracing:
// Arrays, and numbers of its program.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tessera/wrapped.h"
#include "trace/captured_numbers.h"

namespace tessera::trace {

class ArrayImpl;

// The captures of one traced program.
struct Watch {
  std::atomic<int> assigned = 0;  // variables that now hold another value
  std::atomic<bool> said = false;
  std::vector<CapturedNumber> numbers = {};
  std::atomic<uint32_t> calls = 0;  // since it was traced
};

// Returns the words of a function object that may be references: compilers store those as pointers.
std::vector<const void*> WordsOf(detail::FunctionBytes function);

// Watches the variables that the function's bytes refer to and that hold a captured array or a
// number of the program; `before` is the memory before it was traced. No Array is read through the
// bytes: it reports its own assignment. Returns null if there is nothing to watch.
std::shared_ptr<Watch> WatchCaptures(const ir::Program& program, detail::FunctionBytes function,
                                     const std::vector<SeenWord>& before);

// Forgets the variables of an array that is destroyed.
void Unwatch(const ArrayImpl* array);

// Returns the note about a call of such a program, or "" if none is due.
std::string CaptureNote(const std::shared_ptr<Watch>& watch, const std::string& name, Loc loc);

}  // namespace tessera::trace

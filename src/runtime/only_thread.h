// Keeps the threads of a process apart when they work with other processes.
#pragma once
#include <string>

#include "tessera/error.h"
#include "tessera/visibility.h"

namespace tessera::runtime {

// Scope: this thread works with the other processes, and no other thread of this process does.
// Scopes of one thread nest. If another thread is in such a scope, the constructor throws
// RuntimeError with the lines of both threads. From then on every process gets errors, since no one
// knows which of the two calls each process would make first.
class [[nodiscard]] OnlyThread {
 public:
  // `work` is a literal that describes the work: "running a program".
  OnlyThread(const char* work, Loc loc);
  ~OnlyThread();
  OnlyThread(const OnlyThread&) = delete;
};

// Describes the work of this process with other processes: "is running a program at train.cc:30",
// or "runs its own code after train.cc:30", the last line where it worked with them.
TESSERA_PUBLIC std::string WorkText();

}  // namespace tessera::runtime

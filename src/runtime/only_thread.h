// Keeps the threads of a process apart when they work with other processes.
#pragma once
#include "tessera/error.h"

namespace tessera::runtime {

// Scope: this thread works with the other processes, and no other thread of this process does.
// Scopes of one thread nest. If another thread is in such a scope, the constructor throws
// RuntimeError with the lines of both threads. From then on every process gets errors, since no one
// knows which of the two calls each process would make first.
class [[nodiscard]] OnlyThread {
 public:
  // `work` describes the work ("running a program"), and lives as long as the scope.
  OnlyThread(const char* work, Loc loc);
  ~OnlyThread();
  OnlyThread(const OnlyThread&) = delete;
};

}  // namespace tessera::runtime

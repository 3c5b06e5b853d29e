// Creates the threads of a run. worker.h has their work.
#pragma once
#include <string>

namespace tessera::runtime {

// Calls work(context, w) for w = 0 .. workers - 1 on as many threads, with 0 on the calling thread,
// and returns when all have returned. Returns false and calls nothing if the system does not give
// the threads.
bool RunTeam(int workers, void (*work)(void* context, int worker), void* context);

// Returns the number of cores that this process may use.
int CoreCount();
// Returns their numbers as a text of the digits 0 and 1, a digit for each core of the machine.
std::string CoresText();

// Scope in which libraries called from this thread, or from a team that it starts, create
// no threads.
class SingleThreaded {
 public:
  SingleThreaded();
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded&) = delete;

 private:
  int old_;
};

}  // namespace tessera::runtime

// The threads of a run: only their creation is here, what they do is in worker.h.
#pragma once

namespace tessera::runtime {

// Calls work(context, w) for w = 0 .. workers - 1 on as many threads, 0 on the caller's, and
// returns when all have. False, with nothing called, if the system does not give the threads.
bool RunTeam(int workers, void (*work)(void* context, int worker), void* context);

// Cores that this process may use.
int CoreCount();

// Scope: libraries called from this thread, or from a team it starts, create no threads.
class SingleThreaded {
 public:
  SingleThreaded();
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded&) = delete;

 private:
  int old_;
};

}  // namespace tessera::runtime

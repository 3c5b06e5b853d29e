// The part of one thread in a run.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "runtime/arena.h"
#include "runtime/barrier.h"
#include "runtime/executable.h"
#include "runtime/recorder.h"

namespace tessera::runtime {

// The state that the workers of a run share.
struct RunState {
  const Executable* executable = nullptr;
  int workers = 1;
  base::IdVector<ViewId, Buffers> buffers;  // own the memory
  base::IdVector<ViewId, View> views;       // the same, for the inner loops
  // Per worker, if there are loops: its views, some of which windows and swaps move; the slots of
  // views that loops reorder; and the current iteration of each loop.
  std::vector<base::IdVector<ViewId, View>> worker_views;
  std::vector<base::IdVector<ViewId, std::vector<int32_t>>> slots;
  std::vector<base::IdVector<LoopId, int64_t>> iterations;
  std::vector<std::vector<Event>> events;  // per worker, if they are recorded
  std::vector<Mail> mail;                  // messages on their way
  int going = 0;                 // starts of messages that have not ended; worker 0 counts
  std::vector<uint8_t> done;     // per node: whether it is an exchange that became an alias
  std::optional<Storage> block;  // memory of values that cross nodes
  std::optional<Storage> own;    // memory of the workers, one after the other
  Barrier barrier;
  std::atomic<int64_t> claims{0};  // instances claimed in nodes of mode kClaims
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // the first exception; guarded by error_lock
  SpinLock error_lock;
};

// Returns the bytes of a worker's own memory: its frame, then its scratch.
int64_t WorkerBytes(const Executable& executable);

// Returns the number of the team's worker that this thread is, or was last.
int WorkerOfThread();

// Runs worker `id`'s part of all nodes. With one worker there are no barriers.
void Work(RunState& run, int id) noexcept;

}  // namespace tessera::runtime

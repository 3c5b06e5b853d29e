// What one thread does in a run.
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

// What the workers of a run share.
struct RunState {
  const Executable* executable = nullptr;
  int workers = 1;
  std::vector<Buffers> buffers;  // per binding: owns
  std::vector<View> views;       // per binding: the same, for the inner loops
  // Per worker, if there are loops: its views, of which windows and swaps move some; the slots of
  // those that loops order anew; and the number of the iteration of each loop.
  std::vector<std::vector<View>> worker_views;
  std::vector<std::vector<std::vector<int32_t>>> slots;
  std::vector<std::vector<int64_t>> iterations;
  std::vector<std::vector<Event>> events;  // per worker, if they are recorded
  std::vector<uint8_t> done;               // per node: an exchange that became an alias
  std::optional<Storage> block;            // of values that cross nodes
  std::optional<Storage> own;              // the workers' memory, one after the other
  Barrier barrier;
  std::atomic<int64_t> claims{0};  // of instances of the nodes in which workers claim them
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // the first; guarded by error_lock
  SpinLock error_lock;
};

// Bytes of a worker's own memory: its frame, then its scratch.
int64_t WorkerBytes(const Executable& executable);

// Which of the team's workers this thread is, or was last.
int WorkerOfThread();

// Runs worker `id`'s part of all nodes. With one worker there are no barriers.
void Work(RunState& run, int id) noexcept;

}  // namespace tessera::runtime

// The threads of the process that run plans together.
#include "runtime/team.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera::runtime {
namespace {

// Runs the work on new threads. They wait for each other before the first one starts work, so that
// a thread that cannot be created leaves no worker waiting at a barrier.
bool RunNewThreads(int workers, void (*work)(void*, int), void* context) {
  enum { kUndecided, kGo, kCancel };
  std::atomic<int> decision{kUndecided};
  std::vector<std::thread> threads;
  try {
    for (int w = 1; w < workers; ++w) {
      threads.emplace_back([&, w] {
        decision.wait(kUndecided);
        if (decision.load() == kGo) work(context, w);
      });
    }
    decision = kGo;
  } catch (const std::system_error&) {
    decision = kCancel;
  }
  decision.notify_all();
  if (decision == kGo) work(context, 0);
  for (std::thread& thread : threads) thread.join();
  return decision == kGo;
}

// Moves the thread off the caller's core. Linux often wakes a worker there, and the two would take
// turns for as long as libgomp spins at the end of a region, 2 to 4 ms.
void LeaveCore(int core) {
  cpu_set_t allowed;
  if (sched_getcpu() != core || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed, &allowed);
}

bool RunOpenMp(int workers, void (*work)(void*, int), void* context) {
  bool complete = true;
  const int core = sched_getcpu();
#pragma omp parallel num_threads(workers) default(none) shared(work, context, complete) \
    firstprivate(workers, core)
  {
    const int worker = omp_get_thread_num();
    if (worker != 0) LeaveCore(core);
    // A thread limit, or a caller that is inside a parallel region of its own, gives fewer threads.
    if (omp_get_num_threads() == workers)
      work(context, worker);
    else if (worker == 0)
      complete = false;
  }
  return complete;
}

// ThreadSanitizer does not see libgomp's synchronisation.
#ifdef TESSERA_STD_THREADS
constexpr bool kSeesOpenMp = false;
#else
constexpr bool kSeesOpenMp = true;
#endif

// Set in the child of a fork, where libgomp would wait for threads that exist only in the parent.
std::atomic<bool> forked{false};
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { forked = true; });

}  // namespace

bool RunTeam(int workers, void (*work)(void*, int), void* context) {
  return kSeesOpenMp && !forked ? RunOpenMp(workers, work, context)
                                : RunNewThreads(workers, work, context);
}

int CoreCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string CoresText() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string text;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return text;
  for (int core = 0; core < CPU_SETSIZE; ++core) text += CPU_ISSET(core, &set) ? '1' : '0';
  return text.substr(0, text.find_last_of('1') + 1);
}

// A team's threads inherit the setting of the thread that starts it.
SingleThreaded::SingleThreaded() : old_(omp_get_max_threads()) {
  if (old_ != 1) omp_set_num_threads(1);
}

SingleThreaded::~SingleThreaded() {
  if (old_ != 1) omp_set_num_threads(old_);
}

}  // namespace tessera::runtime

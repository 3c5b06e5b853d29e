// The list of locks that are taken before a fork and released after it, in parent and child.
#include "base/fork.h"

#include <pthread.h>

#include <vector>

namespace tessera::base {
namespace {

struct Registry {
  Registry() { pthread_atfork(Acquire, Release, Release); }
  // A fork locks in one of these functions and unlocks in the other.
  static void Acquire() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void Release() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  Mutex mutex;
  std::vector<ForkLock> locks ABSL_GUARDED_BY(mutex);
};
Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

void Registry::Acquire() {
  Registry& registry = TheRegistry();
  registry.mutex.lock();
  for (const ForkLock& l : registry.locks) l.acquire(l.lock);
}

void Registry::Release() {
  Registry& registry = TheRegistry();
  for (size_t i = registry.locks.size(); i-- > 0;)
    registry.locks[i].release(registry.locks[i].lock);
  registry.mutex.unlock();
}

}  // namespace

void AddForkLock(ForkLock lock) {
  Registry& registry = TheRegistry();
  const MutexLock lock_registry(registry.mutex);
  registry.locks.push_back(lock);
}

Mutex& NewForkMutex() {
  auto& mutex = *new Mutex;
  HoldOverFork(mutex);
  return mutex;
}

}  // namespace tessera::base

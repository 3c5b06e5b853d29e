// Locks that stay consistent across a fork of the process.
#pragma once

#include "base/mutex.h"

namespace tessera::base {

struct ForkLock {
  void* lock;
  void (*acquire)(void* lock);
  void (*release)(void* lock);
};
void AddForkLock(ForkLock lock);

// Makes every later fork take `lock` first, so that in the child the lock is free and the data it
// guards is consistent. The lock must live forever. A thread that holds several such locks must
// take them in the order in which they were registered here.
template <class Lock>
void HoldOverFork(Lock& lock) {
  AddForkLock({&lock, [](void* l) ABSL_NO_THREAD_SAFETY_ANALYSIS { static_cast<Lock*>(l)->lock(); },
               [](void* l) ABSL_NO_THREAD_SAFETY_ANALYSIS { static_cast<Lock*>(l)->unlock(); }});
}

// Returns a new mutex that forks wait for.
Mutex& NewForkMutex();

}  // namespace tessera::base

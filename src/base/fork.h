// Locks of the whole process over a fork.
#pragma once
#include <mutex>

namespace tessera::base {

struct ForkLock {
  void* lock;
  void (*acquire)(void* lock);
  void (*release)(void* lock);
};
void AddForkLock(ForkLock lock);

// From now on a fork waits for whoever holds `lock`, so that in the child it is free and what it
// guards is whole. The lock lives forever. Who holds several has taken them in the order in which
// they were given here.
template <class Lock>
void HoldOverFork(Lock& lock) {
  AddForkLock({&lock, [](void* l) { static_cast<Lock*>(l)->lock(); },
               [](void* l) { static_cast<Lock*>(l)->unlock(); }});
}

// Returns a new mutex that a fork waits for.
std::mutex& NewForkMutex();

}  // namespace tessera::base

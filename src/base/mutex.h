// A mutex for clang's thread safety analysis: ABSL_GUARDED_BY(mutex) marks the data that it guards.
#pragma once
#include <absl/base/thread_annotations.h>

#include <mutex>

namespace tessera::base {

// A std::mutex with annotations. absl::Mutex cannot be used: forks hold our mutexes (base/fork.h),
// and it keeps a queue of waiting threads, which a child would inherit without the threads.
class ABSL_LOCKABLE Mutex : public std::mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { std::mutex::lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { std::mutex::unlock(); }
};

// Scope that holds a lock.
template <class Lock>
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Lock& lock) ABSL_EXCLUSIVE_LOCK_FUNCTION(lock) : lock_(lock) { lock_.lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }
  MutexLock(const MutexLock&) = delete;

 private:
  Lock& lock_;
};

}  // namespace tessera::base

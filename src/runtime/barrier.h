// The barrier of the workers of a run.
#pragma once
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "hwy/cache_control.h"
#include "runtime/starvation.h"

namespace tessera::runtime {

// A barrier with a generation counter. Waiters spin for a while, then sleep in the kernel.
class Barrier {
 public:
  // Tells how long one worker may spin.
  struct Waiter {
    int slept = 0;  // consecutive waits that slept in the kernel
    Starvation::Interruptions interruptions = -1;
  };

  // Sets the number of workers. They may spin only if each has a core of its own. If `barriers`
  // is positive, the team dissolves at that barrier.
  void Reset(int size, bool may_spin, int barriers = 0) {
    size_ = size;
    may_spin_ = may_spin;
    barriers_left_ = barriers;
    dissolved_ = false;
    sleep_begin_.store(0, std::memory_order_relaxed);
    starvation_ = Starvation(Now());
  }

  // Whether the team has dissolved: from its last barrier on, worker 0 does the work of all. After
  // a barrier all workers get the same answer.
  bool dissolved() const { return dissolved_; }
  // Called by worker 0 when the team has dissolved. Others may still read the answer.
  void LeaveOne() { size_ = 1; }

  // Waits until all workers have arrived. Returns false if `failed` was set when the last one
  // arrived; all workers get the same answer.
  bool Wait(const std::atomic<bool>& failed, Waiter& waiter) {
    const uint32_t seen = generation_.load(std::memory_order_relaxed);
    // Read before the worker arrives: once all have, worker 0 may call LeaveOne.
    const int others = size_ - 1;
    // The others may still read their answer.
    if (others == 0) return !failed.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == others) {
      arrived_.store(0, std::memory_order_relaxed);
      stop_ = failed.load(std::memory_order_relaxed);
      dissolved_ = --barriers_left_ == 0 || IsStarved(waiter);
      generation_.store(seen + 1);  // seq_cst: notify must not check for sleepers before this store
      generation_.notify_all();
      return !stop_;
    }
    if (!Spin(seen, waiter)) {
      sleep_begin_.store(Now(), std::memory_order_relaxed);
      while (generation_.load(std::memory_order_acquire) == seen) generation_.wait(seen);
    }
    return !stop_;
  }

 private:
  static constexpr auto kSpin = std::chrono::microseconds(50);
  // The spin of a worker whose waits keep ending in the kernel: the machine is busy or has too
  // few cores.
  static constexpr auto kShortSpin = std::chrono::microseconds(2);
  static constexpr int kPatience = 3;

  bool Spin(uint32_t seen, Waiter& waiter) const {
    using Clock = std::chrono::steady_clock;
    auto changed = [&] {
      for (int i = 0; i < 128; ++i) {
        if (generation_.load(std::memory_order_acquire) != seen) return true;
        hwy::Pause();
      }
      return false;
    };
    if (changed()) return waiter.slept = 0, true;
    const auto end = Clock::now() + (may_spin_ && waiter.slept < kPatience ? kSpin : kShortSpin);
    do {
      if (changed()) return waiter.slept = 0, true;
    } while (Clock::now() < end);
    ++waiter.slept;
    return false;
  }

  static int64_t Now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }

  // Asked by the last worker to arrive.
  bool IsStarved(Waiter& waiter) {
    const int64_t since = sleep_begin_.exchange(0, std::memory_order_relaxed);
    if (since == 0) return false;
    rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return false;
    return starvation_.Arrive(since, Now(), usage.ru_nivcsw, waiter.interruptions);
  }

  int size_ = 1;
  int barriers_left_ = 0;
  bool may_spin_ = true;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  bool stop_ = false, dissolved_ = false;
  // When a waiter went to sleep; 0: none has. A waiter that is late may leave its time for the next
  // barrier.
  std::atomic<int64_t> sleep_begin_{0};
  Starvation starvation_;
};

}  // namespace tessera::runtime

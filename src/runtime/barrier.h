// Where the workers of a run meet.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "hwy/cache_control.h"

namespace tessera::runtime {

// A generation counter. Waiters spin for a while, then sleep in the kernel.
class Barrier {
 public:
  // Of one worker: how long it may still spin.
  struct Waiter {
    int slept = 0;  // waits in a row that ended in the kernel
  };

  // May spin only if each worker has a core for itself.
  void Reset(int size, bool may_spin) {
    size_ = size;
    may_spin_ = may_spin;
  }

  // Returns once all have come: whether the run goes on. All get the same answer, `failed` as the
  // last to come saw it.
  bool Wait(const std::atomic<bool>& failed, Waiter& waiter) {
    const uint32_t seen = generation_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      stop_ = failed.load(std::memory_order_relaxed);
      generation_.store(seen + 1);  // seq_cst: notify must not look for sleepers before it
      generation_.notify_all();
      return !stop_;
    }
    if (!Spin(seen, waiter)) {
      while (generation_.load(std::memory_order_acquire) == seen) generation_.wait(seen);
    }
    return !stop_;
  }

 private:
  static constexpr auto kSpin = std::chrono::microseconds(50);
  // For the machine is busy, or has fewer cores than workers.
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

  int size_ = 1;
  bool may_spin_ = true;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  bool stop_ = false;
};

}  // namespace tessera::runtime

// The barrier of the workers of a run.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "hwy/cache_control.h"

namespace tessera::runtime {

// A barrier with a generation counter. Waiters spin for a while, then sleep in the kernel.
class Barrier {
 public:
  // Tells how long one worker may spin.
  struct Waiter {
    int slept = 0;  // consecutive waits that slept in the kernel
  };

  // Sets the number of workers. They may spin only if each has a core of its own.
  void Reset(int size, bool may_spin) {
    size_ = size;
    may_spin_ = may_spin;
  }

  // Waits until all workers have arrived. Returns false if `failed` was set when the last one
  // arrived; all workers get the same answer.
  bool Wait(const std::atomic<bool>& failed, Waiter& waiter) {
    const uint32_t seen = generation_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      stop_ = failed.load(std::memory_order_relaxed);
      generation_.store(seen + 1);  // seq_cst: notify must not check for sleepers before this store
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

  int size_ = 1;
  bool may_spin_ = true;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
  bool stop_ = false;
};

}  // namespace tessera::runtime

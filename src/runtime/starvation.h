// Tells when a team should stop sharing its work, because other processes use its cores.
#pragma once
#include <cstdint>

namespace tessera::runtime {

// The time that a run lost at barriers because the last worker to arrive had been interrupted: the
// others slept until it got a core again. Times in nanoseconds.
class Starvation {
 public:
  // A worker's count of interruptions when it was last read; -1: never.
  using Interruptions = int64_t;

  explicit Starvation(int64_t begin = 0) : begin_(begin) {}

  // Records that a worker arrived last at `now`, after others had slept since `since`, and that it
  // has been interrupted `count` times so far. Returns whether one worker alone would be faster.
  bool Arrive(int64_t since, int64_t now, int64_t count, Interruptions& last) {
    const bool interrupted = last >= 0 && count > last;
    last = count;
    if (interrupted) lost_ += now - since;
    return lost_ > kLeast && 2 * lost_ > now - begin_;
  }

 private:
  static constexpr int64_t kLeast = 20'000'000;  // some time slices of the kernel
  int64_t begin_, lost_ = 0;
};

}  // namespace tessera::runtime

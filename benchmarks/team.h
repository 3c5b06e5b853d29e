// Threads pinned to one core each, for limits and references. They share nothing with the library.
#pragma once
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace tessera::bench {

// The thread that creates a team is its thread 0, and stays pinned to core 0.
class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  // Calls f(t) on each thread t, and waits by spinning.
  void Run(const std::function<void(int)>& f);

 private:
  void Work(int t);

  int size_;
  std::vector<std::thread> threads_;
  std::atomic<int> generation_{0}, done_{0};
  const std::function<void(int)>* job_ = nullptr;
  std::atomic<bool> stop_{false};
};

// n floats in huge pages if the system provides them. All pages are touched. The floats start
// `skew` floats after a page boundary, so that several arrays do not use the same cache sets.
class Floats {
 public:
  explicit Floats(size_t n, size_t skew = 0);
  float* get() const { return start_; }

 private:
  std::unique_ptr<float, void (*)(float*)> data_;
  float* start_;
};

}  // namespace tessera::bench

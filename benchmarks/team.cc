// The pinned threads of limits and references. They start once and then run one function after
// the other.
#include "benchmarks/team.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace tessera::bench {
namespace {

void Pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

float* AllocatePages(size_t n) {
  constexpr size_t kPage = size_t{2} << 20;
  const size_t bytes = (n * sizeof(float) + kPage - 1) / kPage * kPage;
  void* p = std::aligned_alloc(kPage, bytes);
  if (!p) std::abort();
  madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 0, bytes);
  return static_cast<float*>(p);
}

}  // namespace

Team::Team(int size) : size_(size) {
  // A thread inherits the core of its creator. If the creator were already pinned and spinning
  // there, the thread might never start.
  for (int t = 1; t < size; ++t) threads_.emplace_back([this, t] { Work(t); });
  Pin(0);
}

Team::~Team() {
  stop_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  for (std::thread& thread : threads_) thread.join();
}

void Team::Run(const std::function<void(int)>& f) {
  job_ = &f;
  done_.store(0, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  f(0);
  while (done_.load(std::memory_order_acquire) != size_ - 1) __builtin_ia32_pause();
}

void Team::Work(int t) {
  constexpr int kSpins = 20000;
  Pin(t);
  for (int seen = 0;; ++seen) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen; ++spins) {
      __builtin_ia32_pause();
      if (spins > kSpins) sched_yield();
    }
    if (stop_) return;
    (*job_)(t);
    done_.fetch_add(1, std::memory_order_release);
  }
}

Floats::Floats(size_t n, size_t skew)
    : data_(AllocatePages(n + skew), [](float* p) { std::free(p); }), start_(data_.get() + skew) {}

}  // namespace tessera::bench

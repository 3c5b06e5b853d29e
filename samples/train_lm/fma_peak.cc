// Measures the machine's limit: independent chains of multiply-adds on every core. Compiled for the
// machine that it runs on.
#include "fma_peak.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace train_lm {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
typedef float Lanes __attribute__((vector_size(kBytes)));

// Ten chains hide the latency of two units. Equal chains would be computed only once.
constexpr int64_t kChains = 10, kRounds = 4000000;
float chains() {
  const Lanes x = Lanes{} + 0.999f, y = Lanes{} + 1e-6f;
  Lanes a = y, b = a + 0.1f, c = b + 0.1f, d = c + 0.1f, e = d + 0.1f;
  Lanes f = e + 0.1f, g = f + 0.1f, h = g + 0.1f, i = h + 0.1f, j = i + 0.1f;
  for (int64_t round = 0; round < kRounds; ++round) {
    a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y, e = e * x + y;
    f = f * x + y, g = g * x + y, h = h * x + y, i = i * x + y, j = j * x + y;
  }
  return (a + b + c + d + e + f + g + h + i + j)[0];
}

}  // namespace

double measured_fma_peak() {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<float> kept(cores);
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (float& one : kept) threads.emplace_back([&one] { one = chains(); });
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double flops = 2.0 * kChains * kRounds * (kBytes / 4) * cores;
    // Keeps the chains alive.
    if (kept[0] >= 0) best = std::max(best, flops / took.count());
  }
  return best;
}

}  // namespace train_lm

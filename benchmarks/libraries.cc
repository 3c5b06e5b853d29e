// W1 by the fastest libraries for products, on this machine and in this run: two threads with half
// of the rows each, and no work besides the product.
#include <dlfcn.h>
#include <dnnl.h>

#include "benchmarks/team.h"
#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

constexpr int kLibraryThreads = 2;

// Computes C = A B. All are dense and row-major; A and C have `rows` rows, and all have n columns.
using Product = void (*)(int64_t rows, int64_t n, const float* a, const float* b, float* c);

void OneDnn(int64_t rows, int64_t n, const float* a, const float* b, float* c) {
  dnnl_sgemm('N', 'N', rows, n, n, 1, a, n, b, n, 0, c, n);
}

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);
Sgemm sgemm = nullptr;

void OpenBlas(int64_t rows, int64_t n, const float* a, const float* b, float* c) {
  constexpr int kRowMajor = 101, kNoTrans = 111;
  const auto size = static_cast<int>(n);
  sgemm(kRowMajor, kNoTrans, kNoTrans, static_cast<int>(rows), size, size, 1, a, size, b, size, 0,
        c, size);
}

// Returns whether OpenBLAS is available, and limits each call to one thread.
bool FindOpenBlas() {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (!library) return false;
  sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  auto* set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  if (set_threads) set_threads(1);
  return sgemm && set_threads;
}

extern "C" void omp_set_num_threads(int) __attribute__((weak));

void Measure(Recorder& recorder, Team& team, const char* name, Product product) {
  for (int64_t n : MatmulSizes(recorder.quick())) {
    const auto count = static_cast<size_t>(n * n);
    const Floats a(count), b(count, 592), c(count, 1104);
    const std::function<void(int)> half = [&](int t) {
      const int64_t rows = n / kLibraryThreads, first = t * rows * n;
      product(rows, n, a.get() + first, b.get(), c.get() + first);
    };
    const auto samples = Sample(recorder.quick(), [&] { team.Run(half); });
    for (const auto& [mesh, variant, devices] : kMatmulVariants)
      recorder.Emit("W1.matmul", name,
                    {{"n", n}, {"mesh", mesh}, {"variant", variant}, {"devices", devices}}, "us",
                    samples);
  }
}

}  // namespace

void ProductLibraries(Recorder& recorder) {
  Team team(kLibraryThreads);
  team.Run([](int) {
    if (omp_set_num_threads) omp_set_num_threads(1);
  });
  Measure(recorder, team, "onednn", OneDnn);
  if (FindOpenBlas()) Measure(recorder, team, "openblas", OpenBlas);
}

}  // namespace tessera::bench

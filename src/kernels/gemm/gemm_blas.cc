// Loads OpenBLAS without its threads, chooses its core for the CPU, and calls its products.
#include "kernels/gemm/gemm_blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/fork.h"

namespace tessera::kernels {
namespace {

// The numbers of CBLAS's enums.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

template <class T>
using GemmFn = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, T alpha,
                        const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);
template <class T>
using GemvFn = void (*)(int order, int trans, int m, int n, T alpha, const T* a, int lda,
                        const T* x, int incx, T beta, T* y, int incy);

struct Blas {
  GemmFn<float> sgemm = nullptr;
  GemmFn<double> dgemm = nullptr;
  GemvFn<float> sgemv = nullptr;
  GemvFn<double> dgemv = nullptr;
  // A build without locks gives two threads that call it at the same time one work buffer, and both
  // get wrong numbers. Calls then take turns.
  bool takes_turns = false;
};

// Debian's OpenBLAS knows CPUs by model number and treats new ones as the slowest core. So we
// choose the core by the CPU's features, unless the user has chosen one.
void ChooseCore() {
  __builtin_cpu_init();
  const char* core = nullptr;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    core = "SkylakeX";
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    core = "Haswell";
  constexpr int kKeep = 0;
  if (core != nullptr) setenv("OPENBLAS_CORETYPE", core, kKeep);
}

// Opens the library such that it starts no threads: the workers are ours.
void* OpenWithoutThreads() {
  constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
  const char* now = getenv(kThreads);
  const std::optional<std::string> wanted = now ? std::optional<std::string>(now) : std::nullopt;
  setenv(kThreads, "1", /*replace=*/1);
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (wanted)
    setenv(kThreads, wanted->c_str(), /*replace=*/1);
  else
    unsetenv(kThreads);
  if (library == nullptr) return library;
  if (auto set = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")))
    set(1);
  return library;
}

Blas Load() {
  ChooseCore();
  Blas blas;
  void* library = OpenWithoutThreads();
  if (library == nullptr) return blas;
  auto config = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_config"));
  blas.takes_turns =
      config == nullptr || std::string_view(config()).find("SINGLE_THREADED") != std::string::npos;
  blas.sgemm = reinterpret_cast<GemmFn<float>>(dlsym(library, "cblas_sgemm"));
  blas.dgemm = reinterpret_cast<GemmFn<double>>(dlsym(library, "cblas_dgemm"));
  blas.sgemv = reinterpret_cast<GemvFn<float>>(dlsym(library, "cblas_sgemv"));
  blas.dgemv = reinterpret_cast<GemvFn<double>>(dlsym(library, "cblas_dgemv"));
  return blas;
}

const Blas& Library() {
  static const Blas blas = Load();
  return blas;
}

// Returns a lock to hold while calling the library; it is only locked if the library needs it.
std::unique_lock<base::Mutex> Turn() {
  static auto& mutex = base::NewForkMutex();
  std::unique_lock lock(mutex, std::defer_lock);
  if (Library().takes_turns) lock.lock();
  return lock;
}

// y = op(matrix) x, where the matrix [rows, cols] has the given strides, one of which is 1.
template <class T>
void Gemv(GemvFn<T> gemv, int64_t rows, int64_t cols, const T* matrix, int64_t row, int64_t col,
          const T* x, int64_t incx, T* y, int64_t incy) {
  const bool transposed = col != 1;
  const int64_t lines = transposed ? cols : rows, length = transposed ? rows : cols;
  const int64_t lead = std::max(transposed ? col : row, length);
  gemv(kRowMajor, transposed ? kTrans : kNoTrans, static_cast<int>(lines), static_cast<int>(length),
       T{1}, matrix, static_cast<int>(lead), x, static_cast<int>(incx), T{0}, y,
       static_cast<int>(incy));
}

template <class T>
void Multiply(GemmFn<T> gemm, GemvFn<T> gemv, const GemmDesc& d, int64_t m, int64_t n, const T* a,
              const T* b, T* c) {
  // Depends on the shape of the whole product: every cut of it must have the same bits.
  if (d.n == 1) return Gemv(gemv, m, d.k, a, d.a_row, d.a_col, b, d.b_row, c, d.c_row);
  if (d.m == 1) return Gemv(gemv, n, d.k, b, d.b_col, d.b_row, a, d.a_col, c, int64_t{1});
  const bool trans_a = d.a_col != 1, trans_b = d.b_col != 1;
  const int64_t lda = std::max(trans_a ? d.a_col : d.a_row, trans_a ? m : d.k);
  const int64_t ldb = std::max(trans_b ? d.b_col : d.b_row, trans_b ? d.k : n);
  gemm(kRowMajor, trans_a ? kTrans : kNoTrans, trans_b ? kTrans : kNoTrans, static_cast<int>(m),
       static_cast<int>(n), static_cast<int>(d.k), T{1}, a, static_cast<int>(lda), b,
       static_cast<int>(ldb), T{0}, c, static_cast<int>(d.c_row));
}

}  // namespace

void LoadBlas() { Library(); }

bool HasBlas() {
  const Blas& b = Library();
  return b.sgemm != nullptr && b.dgemm != nullptr && b.sgemv != nullptr && b.dgemv != nullptr;
}

void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const float* a, const float* b, float* c) {
  std::unique_lock lock = Turn();
  Multiply(Library().sgemm, Library().sgemv, d, m, n, a, b, c);
}
void BlasGemm(const GemmDesc& d, int64_t m, int64_t n, const double* a, const double* b,
              double* c) {
  std::unique_lock lock = Turn();
  Multiply(Library().dgemm, Library().dgemv, d, m, n, a, b, c);
}

}  // namespace tessera::kernels

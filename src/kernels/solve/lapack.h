// The functions of LAPACK that the kernels of this folder call; and for these kernels, batches of
// matrices, scratch memory, and copies between row-major and column-major order. LAPACK's matrices
// are column-major; all others are row-major.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "kernels/gemm/openblas.h"
#include "kernels/kernel.h"
#include "kernels/parts.h"

namespace tessera::kernels {

using LapackInt = const int*;
// Fortran passes the length of every character argument after all others.
using Length = size_t;

template <class T>
struct Lapack {
  void (*potrf)(const char* uplo, LapackInt n, T* a, LapackInt lda, int* info, Length);
  void (*trsm)(const char* side, const char* uplo, const char* trans, const char* diag, LapackInt m,
               LapackInt n, const T* alpha, const T* a, LapackInt lda, T* b, LapackInt ldb, Length,
               Length, Length, Length);
  void (*getrf)(LapackInt m, LapackInt n, T* a, LapackInt lda, int* pivots, int* info);
  void (*geqrf)(LapackInt m, LapackInt n, T* a, LapackInt lda, T* taus, T* work, LapackInt lwork,
                int* info);
  void (*orgqr)(LapackInt m, LapackInt n, LapackInt k, T* a, LapackInt lda, const T* taus, T* work,
                LapackInt lwork, int* info);
  void (*syevd)(const char* jobz, const char* uplo, LapackInt n, T* a, LapackInt lda, T* w, T* work,
                LapackInt lwork, int* iwork, LapackInt liwork, int* info, Length, Length);
  void (*gesdd)(const char* jobz, LapackInt m, LapackInt n, T* a, LapackInt lda, T* s, T* u,
                LapackInt ldu, T* vt, LapackInt ldvt, T* work, LapackInt lwork, int* iwork,
                int* info, Length);
  void (*gees)(const char* jobvs, const char* sort, void* select, LapackInt n, T* a, LapackInt lda,
               int* sdim, T* wr, T* wi, T* vs, LapackInt ldvs, T* work, LapackInt lwork, int* bwork,
               int* info, Length, Length);
  void (*gehrd)(LapackInt n, LapackInt low, LapackInt high, T* a, LapackInt lda, T* taus, T* work,
                LapackInt lwork, int* info);
  void (*sytrd)(const char* uplo, LapackInt n, T* a, LapackInt lda, T* d, T* e, T* taus, T* work,
                LapackInt lwork, int* info, Length);
};

// Returns LAPACK's functions for an element type. Throws RuntimeError if the library is missing.
template <class T>
const Lapack<T>& LapackOf();

// Equal matrices [m, n], one after the other. The configuration of a kernel derives from it.
struct MatrixBatch {
  DType dtype;
  int64_t count = 1, m = 0, n = 0;
  int64_t work = 0;   // elements of LAPACK's work array
  int64_t iwork = 0;  // its ints
  int64_t rank() const { return std::min(m, n); }
};
// Returns the matrices of an array [..., m, n].
MatrixBatch MatricesOf(DType dtype, const Shape& shape);

// A bump allocator over a worker's scratch memory. Without memory it only counts bytes.
class Scratch {
 public:
  explicit Scratch(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* Take(int64_t n) {
    std::byte* at = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (n * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }
  int64_t used() const { return used_; }

 private:
  std::byte* memory_;
  int64_t used_ = 0;
};

// Returns the bytes of scratch memory that a Memory takes.
template <class Memory, class Config>
int64_t BytesOf(const Config& c) {
  Scratch counted(nullptr);
  Memory(c, counted);
  return counted.used();
}

// LAPACK refuses leading dimensions of 0.
inline int Lead(int64_t rows) { return static_cast<int>(std::max<int64_t>(rows, 1)); }

// Copies a row-major matrix [rows, cols] to column-major order. It also copies a column-major
// matrix [cols, rows] to row-major order.
template <class T>
void CopyTransposed(const T* in, int64_t rows, int64_t cols, T* out) {
  constexpr int64_t kTile = 16;
  for (int64_t i = 0; i < rows; i += kTile)
    for (int64_t j = 0; j < cols; j += kTile)
      for (int64_t c = j; c < std::min(cols, j + kTile); ++c)
        for (int64_t r = i; r < std::min(rows, i + kTile); ++r)
          out[c * rows + r] = in[r * cols + c];
}
// Transposes a matrix [n, n] in place.
template <class T>
void TransposeSquare(T* a, int64_t n) {
  constexpr int64_t kTile = 16;
  for (int64_t i = 0; i < n; i += kTile)
    for (int64_t j = 0; j <= i; j += kTile)
      for (int64_t r = i; r < std::min(n, i + kTile); ++r)
        for (int64_t c = j; c < std::min(r, j + kTile); ++c) std::swap(a[r * n + c], a[c * n + r]);
}

template <class T>
void FillNan(T* x, int64_t n) {
  std::fill_n(x, n, std::numeric_limits<T>::quiet_NaN());
}
template <class T>
bool AllFinite(const T* x, int64_t n) {
  // NaN and infinities times 0 are NaN.
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * 0;
  return sum == 0;
}
template <class T>
void SetIdentity(T* x, int64_t n) {
  std::fill_n(x, n * n, T{0});
  for (int64_t i = 0; i < n; ++i) x[i * (n + 1)] = 1;
}

template <class T>
const T* In(const plan::KernelArgs& call, size_t i) {
  return reinterpret_cast<const T*>(call.in[i]);
}
template <class T>
T* Out(const plan::KernelArgs& call, size_t i) {
  return reinterpret_cast<T*>(call.out[i]);
}

// Calls Work<T>::Run(config, call, i, scratch) for each matrix i of the call's part, where T is the
// element type.
template <class Config, template <class> class Work>
void ForEachMatrix(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const Config*>(call.config);
  const Range part = Share(c.count, 1, call.part, call.parts);
  const auto run = [&]<class T>(T) {
    std::unique_lock lock = OpenBlasTurn();
    for (int64_t i = part.begin; i < part.end; ++i) Work<T>::Run(c, call, i, Scratch(call.scratch));
  };
  c.dtype == f64 ? run(double{}) : run(float{});
}

// Returns the kernel that does `flops` operations per matrix. Work<T>::Plan(config) sets the sizes
// of LAPACK's work arrays and returns the bytes of scratch memory.
template <class Config, template <class> class Work>
plan::Kernel KernelOf(Config config, double flops) {
  plan::Kernel kernel;
  kernel.scratch_bytes =
      config.dtype == f64 ? Work<double>::Plan(config) : Work<float>::Plan(config);
  kernel.fn = &ForEachMatrix<Config, Work>;
  const auto count = static_cast<double>(config.count);
  kernel.flops = flops * count;
  kernel.bytes = 2 * count * static_cast<double>(config.m * config.n * config.dtype.size());
  // LAPACK takes at least as long as an eighth of a byte's move per operation.
  kernel.max_parts = MaxParts(4 * kernel.bytes + kernel.flops / 8, config.count);
  kernel.config = std::make_shared<Config>(std::move(config));
  return kernel;
}

}  // namespace tessera::kernels

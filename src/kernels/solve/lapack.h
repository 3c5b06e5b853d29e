// The functions of LAPACK that the kernels of this folder call; and for these kernels, batches of
// matrices, scratch memory, and copies between row-major and column-major order. LAPACK's matrices
// are column-major; all others are row-major.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/dtype.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/gemm/openblas.h"
#include "kernels/kernel.h"
#include "kernels/parts.h"

namespace tessera::kernels {

using LapackInt = const int*;
// Fortran passes the length of every character argument after all others.
using Length = size_t;

// The type of the parts of complex numbers T; T for real ones.
template <class T>
struct PartTypeOf {
  using Type = T;
};
template <class P>
struct PartTypeOf<std::complex<P>> {
  using Type = P;
};
template <class T>
using PartType = typename PartTypeOf<T>::Type;
template <class T>
T Conjugate(T z) {
  if constexpr (kIsComplex<T>)
    return std::conj(z);
  else
    return z;
}

// A function with other parameters for complex numbers than for real ones.
template <class T, class OfReal, class OfComplex>
using Either = std::conditional_t<kIsComplex<T>, OfComplex, OfReal>;

template <class T>
struct Lapack {
  void (*potrf)(const char* uplo, LapackInt n, T* a, LapackInt lda, int* info, Length);
  void (*trsm)(const char* side, const char* uplo, const char* trans, const char* diag, LapackInt m,
               LapackInt n, const T* alpha, const T* a, LapackInt lda, T* b, LapackInt ldb, Length,
               Length, Length, Length);
  void (*getrf)(LapackInt m, LapackInt n, T* a, LapackInt lda, int* pivots, int* info);
  void (*geqrf)(LapackInt m, LapackInt n, T* a, LapackInt lda, T* taus, T* work, LapackInt lwork,
                int* info);
  Either<T,
         void (*)(LapackInt m, LapackInt n, T* a, LapackInt lda, int* pivots, T* taus, T* work,
                  LapackInt lwork, int* info),
         void (*)(LapackInt m, LapackInt n, T* a, LapackInt lda, int* pivots, T* taus, T* work,
                  LapackInt lwork, PartType<T>* rwork, int* info)>
      geqp3;
  void (*orgqr)(LapackInt m, LapackInt n, LapackInt k, T* a, LapackInt lda, const T* taus, T* work,
                LapackInt lwork, int* info);
  Either<T,
         void (*)(const char* jobz, const char* uplo, LapackInt n, T* a, LapackInt lda, T* w,
                  T* work, LapackInt lwork, int* iwork, LapackInt liwork, int* info, Length,
                  Length),
         void (*)(const char* jobz, const char* uplo, LapackInt n, T* a, LapackInt lda,
                  PartType<T>* w, T* work, LapackInt lwork, PartType<T>* rwork, LapackInt lrwork,
                  int* iwork, LapackInt liwork, int* info, Length, Length)>
      syevd;
  Either<T,
         void (*)(const char* jobz, LapackInt m, LapackInt n, T* a, LapackInt lda, T* s, T* u,
                  LapackInt ldu, T* vt, LapackInt ldvt, T* work, LapackInt lwork, int* iwork,
                  int* info, Length),
         void (*)(const char* jobz, LapackInt m, LapackInt n, T* a, LapackInt lda, PartType<T>* s,
                  T* u, LapackInt ldu, T* vt, LapackInt ldvt, T* work, LapackInt lwork,
                  PartType<T>* rwork, int* iwork, int* info, Length)>
      gesdd;
  Either<T,
         void (*)(const char* jobvs, const char* sort, void* select, LapackInt n, T* a,
                  LapackInt lda, int* sdim, T* wr, T* wi, T* vs, LapackInt ldvs, T* work,
                  LapackInt lwork, int* bwork, int* info, Length, Length),
         void (*)(const char* jobvs, const char* sort, void* select, LapackInt n, T* a,
                  LapackInt lda, int* sdim, T* w, T* vs, LapackInt ldvs, T* work, LapackInt lwork,
                  PartType<T>* rwork, int* bwork, int* info, Length, Length)>
      gees;
  Either<T,
         void (*)(const char* jobvl, const char* jobvr, LapackInt n, T* a, LapackInt lda, T* wr,
                  T* wi, T* vl, LapackInt ldvl, T* vr, LapackInt ldvr, T* work, LapackInt lwork,
                  int* info, Length, Length),
         void (*)(const char* jobvl, const char* jobvr, LapackInt n, T* a, LapackInt lda, T* w,
                  T* vl, LapackInt ldvl, T* vr, LapackInt ldvr, T* work, LapackInt lwork,
                  PartType<T>* rwork, int* info, Length, Length)>
      geev;
  void (*gehrd)(LapackInt n, LapackInt low, LapackInt high, T* a, LapackInt lda, T* taus, T* work,
                LapackInt lwork, int* info);
  void (*sytrd)(const char* uplo, LapackInt n, T* a, LapackInt lda, PartType<T>* d, PartType<T>* e,
                T* taus, T* work, LapackInt lwork, int* info, Length);
};

// Returns LAPACK's functions for an element type. Throws RuntimeError if the library is missing.
template <class T>
const Lapack<T>& LapackOf();

// Equal matrices [m, n], one after the other. The configuration of a kernel derives from it.
struct MatrixBatch {
  DType dtype;
  int64_t count = 1, m = 0, n = 0;
  int64_t work = 0;   // elements of LAPACK's work array
  int64_t rwork = 0;  // real numbers of another one, for complex matrices
  int64_t iwork = 0;  // ints of another one
  int64_t rank() const { return std::min(m, n); }
  double rows() const { return static_cast<double>(m); }
  double columns() const { return static_cast<double>(n); }
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

template <class T>
struct WorkArrays {
  WorkArrays() = default;
  WorkArrays(const MatrixBatch& c, Scratch& s)
      : work(s.Take<T>(c.work)),
        rwork(s.Take<PartType<T>>(c.rwork)),
        iwork(s.Take<int>(c.iwork)),
        length(static_cast<int>(c.work)),
        real_length(static_cast<int>(c.rwork)),
        int_length(static_cast<int>(c.iwork)) {}
  T* work = nullptr;
  PartType<T>* rwork = nullptr;
  int* iwork = nullptr;
  int length = 0, real_length = 0, int_length = 0;
};

// Calls f with work arrays of length -1, which asks LAPACK for the best lengths, and sets them.
template <class T, class F>
void AskForWork(MatrixBatch& c, F f) {
  T work = 1;
  PartType<T> rwork = 1;
  int iwork = 1;
  WorkArrays<T> ask;
  ask.work = &work;
  ask.rwork = &rwork;
  ask.iwork = &iwork;
  ask.length = ask.real_length = ask.int_length = -1;
  f(ask);
  // The answers are rounded to the type.
  const auto length = [](PartType<T> answer) {
    const auto exact = static_cast<double>(answer);
    return static_cast<int64_t>(exact * (1 + std::numeric_limits<PartType<T>>::epsilon())) + 1;
  };
  c.work = std::max(c.work, length(std::real(work)));
  c.rwork = std::max(c.rwork, kIsComplex<T> ? length(rwork) : 0);
  c.iwork = std::max<int64_t>(c.iwork, iwork);
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

// Complex numbers are pairs of their parts.
template <class T>
PartType<T>* PartsAt(T* x) {
  return reinterpret_cast<PartType<T>*>(x);
}
template <class T>
const PartType<T>* PartsAt(const T* x) {
  return reinterpret_cast<const PartType<T>*>(x);
}
template <class T>
inline constexpr int64_t kParts = kIsComplex<T> ? 2 : 1;

template <class T>
void FillNan(T* x, int64_t n) {
  std::fill_n(PartsAt(x), n * kParts<T>, std::numeric_limits<PartType<T>>::quiet_NaN());
}
template <class T>
bool AllFinite(const T* x, int64_t n) {
  // NaN and infinities times 0 are NaN.
  PartType<T> sum = 0;
  for (int64_t i = 0; i < n * kParts<T>; ++i) sum += PartsAt(x)[i] * 0;
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

// Calls f with an element of the type of the matrices.
template <class F>
auto WithElement(DType dtype, F f) {
  if (dtype == c64) return f(std::complex<float>{});
  if (dtype == c128) return f(std::complex<double>{});
  return dtype == f64 ? f(double{}) : f(float{});
}

// Calls Work<T>::Run(config, call, i, scratch) for each matrix i of the call's part, where T is the
// element type.
template <class Config, template <class> class Work>
void ForEachMatrix(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const Config*>(call.config);
  const Range part = Share(c.count, 1, call.part, call.parts);
  WithElement(c.dtype, [&]<class T>(T) {
    std::unique_lock lock = OpenBlasTurn();
    for (int64_t i = part.begin; i < part.end; ++i) Work<T>::Run(c, call, i, Scratch(call.scratch));
  });
}

// Returns the kernel that does `flops` operations per matrix; of complex numbers each counts as
// four. Work<T>::Plan(config) sets the sizes
// of LAPACK's work arrays and returns the bytes of scratch memory.
template <class Config, template <class> class Work>
plan::Kernel KernelOf(Config config, double flops) {
  plan::Kernel kernel;
  kernel.scratch_bytes =
      WithElement(config.dtype, [&]<class T>(T) { return Work<T>::Plan(config); });
  kernel.fn = &ForEachMatrix<Config, Work>;
  const auto count = static_cast<double>(config.count);
  kernel.flops = flops * count * (config.dtype.is_complex() ? 4 : 1);
  kernel.bytes = 2 * count * static_cast<double>(config.m * config.n * config.dtype.size());
  // LAPACK takes at least as long as an eighth of a byte's move per operation.
  kernel.max_parts = MaxParts(4 * kernel.bytes + kernel.flops / 8, config.count);
  kernel.config = std::make_shared<Config>(std::move(config));
  return kernel;
}

}  // namespace tessera::kernels
